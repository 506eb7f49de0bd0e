# SPDX-License-Identifier: Apache-2.0
"""leat graph join: this machine is the host that modules of a graph are placed on, as in place={view: "host:desk"}."""
import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import time

_LOOK_AGAIN = 2  # s
_EXIT = "Exit codes: 0 the run is over; 1 it was not joined, or a module could not run here; 2 the command line is wrong."


def main(words):
    options = _options(words)
    program = os.path.join(os.path.dirname(os.environ["LEAT_PROGRAM"]), "leatd")
    name = options.name if options.server == 0 else f"{options.name}.{options.server}"
    told = ["--wait", str(options.wait), *(["--at", options.at] if options.at else [])]
    node, _, folder = options.folder.rpartition(":")
    if not node:
        return _run([program, "--graph-host", "join", os.path.abspath(folder), name, *told])
    with tempfile.TemporaryDirectory() as own:  # for this user alone
        if not _fetched(node, f"{folder}/{name}.card", f"{own}/{name}.card", options.wait):
            return 1
        return _run([program, "--graph-host", "join", own, name, *told])


def _options(words):
    parser = argparse.ArgumentParser(prog="leat graph join", formatter_class=argparse.RawDescriptionHelpFormatter, epilog=_EXIT,
                                     description="Joins a run as the host that modules of its graph are placed on, as in "
                                                 "place={view: \"host:desk\"}: starts their programs here, in this folder, and ends with "
                                                 "the run. It runs what the graph of the run says: join only runs of your own.")
    parser.add_argument("folder", metavar="[NODE:]FOLDER", help="NAME.hosts of the run, or a copy of it; with NODE: it is fetched by ssh")
    parser.add_argument("--as", dest="name", metavar="HOST", required=True, help="the name that the graph has for this machine")
    parser.add_argument("--server", type=int, default=0, metavar="N", help="which server of the run (default: 0, the first)")
    parser.add_argument("--at", metavar="ADDRESS:PORT", help="where the node is found, as at the end of a tunnel")
    parser.add_argument("--wait", type=float, default=60, metavar="SECONDS",
                        help="for a run that has not begun, or has lost its connection (default: 60)")
    parser.add_argument("--interpreter", help=argparse.SUPPRESS)
    return parser.parse_args(words)


def _fetched(node, there, here, wait):
    """The card, as soon as the run has put it there. It is a secret."""
    until = time.monotonic() + wait
    while True:
        done = subprocess.run(["ssh", node, "cat", shlex.quote(there)], capture_output=True, check=False)
        if done.returncode == 0 and done.stdout:
            with open(os.open(here, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
                file.write(done.stdout)
            return True
        if time.monotonic() > until:
            print(f"leat graph join: ssh {node} cannot read {there}: {done.stderr.decode(errors='replace').strip()}", file=sys.stderr)
            return False
        time.sleep(_LOOK_AGAIN)


def _run(command):
    """Signals of the terminal reach it too: it ends well."""
    process = subprocess.Popen(command)
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue

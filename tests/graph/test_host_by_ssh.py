# SPDX-License-Identifier: Apache-2.0
"""How a host comes to a run, as docs/how-to/graphs.md says: with the line that `leat graph` prints, and by a tunnel of OpenSSH's."""
import contextlib
import getpass
import os
import pathlib
import re
import shutil
import socket
import subprocess
import time

import pytest
from graph_run import config, graph_run, module, modules_of, note, plan, seen, variable, wait_until, write_iterations
from host_run import Desk, listening_port, ways
from leat_run import LIMIT
from python_client import ROOT, installed

PAGE = (ROOT / "docs/how-to/graphs.md").read_text()
FILES = dict(re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", PAGE, re.S))


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


@pytest.fixture
def ssh(tmp_path):
    """A folder with a command `ssh` that reaches this machine, whatever it is called, by a server of OpenSSH's."""
    folder, port = tmp_path / "ssh", free_port()
    folder.mkdir()
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    if os.geteuid() == 0:
        os.makedirs("/run/sshd", exist_ok=True)
    (folder / "sshd").write_text(f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/user.pub\n"
                                 f"StrictModes no\nPasswordAuthentication no\nPermitRootLogin yes\nPidFile none\n")
    (folder / "client").write_text(f"Host *\nHostName 127.0.0.1\nPort {port}\nUser {getpass.getuser()}\nIdentityFile {folder}/user\n"
                                   f"IdentitiesOnly yes\nStrictHostKeyChecking no\nUserKnownHostsFile {folder}/known\nLogLevel ERROR\n")
    (folder / "bin").mkdir()
    (folder / "bin/ssh").write_text(f"#!/bin/sh\nexec {shutil.which('ssh')} -F {folder}/client \"$@\"\n")
    (folder / "bin/ssh").chmod(0o755)
    with open(folder / "log", "wb") as log:
        server = subprocess.Popen(["/usr/sbin/sshd", "-D", "-e", "-f", folder / "sshd"], stderr=log)
    try:
        wait_until(lambda: "listening" in (folder / "log").read_text(), "sshd")
        yield folder / "bin"
    finally:
        server.terminate()
        server.wait()


def test_the_line_that_is_printed_joins_the_run(tmp_path, ssh, tmp_path_factory):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    endless = FILES["wave.py"].replace("range(100)", "range(100000)").replace("import time", "import os\nimport time")
    (tmp_path / "wave.py").write_text(endless.replace("    time.sleep(", "    if os.path.exists('stop'): break\n    time.sleep("))
    desk = tmp_path / "desk"
    desk.mkdir()
    (tmp_path / "watch.py").rename(desk / "watch.py")
    python = installed(tmp_path_factory.mktemp("python"))
    environment = {**os.environ, "LEAT_RUNTIME_DIR": str(tmp_path / "r"),
                   "PATH": f"{ssh}:{python.parent}:{python.parents[2] / 'leat/bin'}:{os.environ['PATH']}"}
    with open(tmp_path / "said", "wb") as said:
        words = ["leat", "graph", "desk.py", "--", "python3", "wave.py"]
        run = subprocess.Popen(words, cwd=tmp_path, env=environment, stdout=said, stderr=said)
    log = tmp_path / "said"
    try:
        wait_until(lambda: "On desk:" in log.read_text(), "the line")
        line = re.search(r"On desk:  (leat graph join \S+:(\S+) --as desk)", log.read_text())
        assert line[2] == str(tmp_path / "wave.hosts")
        with subprocess.Popen(line[1].split(), cwd=desk, env=environment, stderr=subprocess.PIPE, text=True) as join:
            wait_until(lambda: len(turns(log)) > 3 or join.poll() is not None, "turns")
            (tmp_path / "stop").touch()
            errors = join.communicate(timeout=LIMIT)[1]
        assert join.returncode == 0, errors + log.read_text()
        assert run.wait(LIMIT) == 0, log.read_text()
    finally:
        run.kill()
        run.wait()
    assert len(turns(log)) > 3 and all(number % 5 == 0 for number in turns(log)), log.read_text()
    assert re.search(r"limit.*module/watch|module/watch.*limit", log.read_text()) and "nothing lost" in log.read_text(), log.read_text()


def turns(log):
    return [int(each) for each in re.findall(r'module "watch": iteration (\d+): \d+ cells above the limit', log.read_text())]


@contextlib.contextmanager
def tunnel(ssh, port, to):
    process = subprocess.Popen([ssh / "ssh", "-N", "-L", f"{port}:127.0.0.1:{to}", "login"])
    try:
        wait_until(lambda: is_open(port), "the tunnel")
        yield
    finally:
        process.kill()
        process.wait()


def is_open(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def test_a_tunnel_and_a_copy_of_the_card_do_and_it_may_break(tmp_path, ssh):
    there = tmp_path / "desk"
    there.mkdir()
    plan(tmp_path, module("view", note(there, "u"), [variable()], place="host:desk", latest=True))
    with graph_run(tmp_path, config()) as run:
        write_iterations(run, [0])
        wait_until(lambda: (tmp_path / "run.hosts/desk.card").exists() and ways(run, "view"), "the card")
        cards, port, number = pathlib.Path(shutil.copytree(tmp_path / "run.hosts", tmp_path / "copy")), free_port(), 1
        assert (cards / "desk.card").stat().st_mode & 0o77 == 0
        with Desk(run).join("--at", f"127.0.0.1:{port}", cards=cards) as desk:
            for _ in range(2):
                with tunnel(ssh, port, listening_port(ways(run, "view")[0])):
                    had, until = len(seen(there, "view")), time.monotonic() + LIMIT
                    while len(seen(there, "view")) < had + 3:
                        assert time.monotonic() < until, desk.log() + run.log()
                        write_iterations(run, [number])
                        number += 1
                while modules_of(run)["view"]["state"] != "away":
                    assert time.monotonic() < until, desk.log() + run.log()
                    write_iterations(run, [number])
                    number += 1

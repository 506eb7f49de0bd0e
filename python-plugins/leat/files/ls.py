# SPDX-License-Identifier: Apache-2.0
"""What `leat ls` starts for files of the hdf5 store: a program that says of a file whether it is written, "all" or "brief", and on standard
input names of files, each with a zero byte behind it. Standard output: for each a line of JSON, as docs/reference/leat-ls.md says; or
one with "no_h5py" and what to do."""
import itertools
import json
import os
import subprocess
import sys
import time

from . import reading

# A reader may come in the midst of a commit, which takes less than this.
TRIES, PAUSE = 10, 0.02


def main():
    program, detail = sys.argv[1:]
    reading.prepare()
    why = reading.why_no_h5py()
    if why:
        _print({"no_h5py": why})
        return 0
    left = [os.fsdecode(path) for path in sys.stdin.buffer.read().split(b"\0") if path]

    def hear(line):
        sys.stdout.buffer.write(line.encode())
        left.pop(0)

    while left:
        ended = reading.apart(lambda: _look_at(list(left), program, detail == "all"), hear)
        if left:  # over the first of these
            why = f"it crashed: {ended}" if ended else ("it has worked on one file for 10 seconds: it is damaged, or a view of very many "
                                                        "iterations")
            _print({**_begun(left.pop(0)), "problem": f"the HDF5 library cannot cope with it: {why}"})
    return 0


def _print(facts):
    """What is no UTF-8 is shown as "?"."""
    sys.stdout.buffer.write(json.dumps(facts, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
    sys.stdout.flush()


def _begun(path):
    try:
        return {"file": path, "state": "", "problem": "", "bytes": os.stat(path).st_size}
    except OSError as error:
        return {"file": path, "state": "", "problem": error.strerror, "bytes": 0}


def _look_at(paths, program, in_detail):
    from .ls_facts import MOST_SECONDS
    for path in paths:
        reading.expect_life(MOST_SECONDS)
        _print(_facts_of(path, program, in_detail))
    return 0


def _facts_of(path, program, in_detail):
    import h5py

    from .ls_facts import FileFacts
    facts, no_file = _begun(path), reading.why_no_file(path)
    if facts["problem"]:
        return facts
    if no_file or not os.access(path, os.R_OK) or not h5py.is_hdf5(path):
        return {**facts, "problem": f"it {no_file}" if no_file else
                "it is no HDF5 file" if os.access(path, os.R_OK) else "you may not read it"}
    for tries in itertools.count(1):
        told, inside = _ask(program, path, in_detail)
        facts["problem"], facts["needs_recover"] = "", told["needs_recover"]
        try:
            of_file = FileFacts(path)
            facts.update(of_file.brief())
            if in_detail:
                facts.update(of_file.details(facts["bytes"], inside))
            facts["state"] = told["state"] or of_file.state_without_writer()
            return facts
        except Exception as error:  # h5py has several for what HDF5 cannot read
            facts["problem"], facts["state"] = str(error) or type(error).__name__, told["state"] or "closed"
            if told["state"] != "running" or tries == TRIES:
                return facts
        time.sleep(PAUSE)


def _ask(program, path, inside):
    """What the plugin's own program says of a file: of who writes it, and what is inside that h5py cannot tell."""
    words = [program, *(["--inside"] if inside else []), path]
    try:
        said = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
    except OSError:  # this Leat was built without the plugin
        said = b'{"state": "", "needs_recover": false}'
    writer, *more = map(json.loads, said.splitlines())
    return writer, more[0] if more else {}

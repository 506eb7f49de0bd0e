# SPDX-License-Identifier: Apache-2.0
"""Runs an example of one process with threads, as a user would."""
import os
import pathlib
import re
import subprocess

from leat_run import BUILD, LIMIT

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


def run(folder, example, *arguments, edit=lambda xml: xml, cores=None, **environment):
    """{word: number} of what it has said of its result, the checksum a text. On so many of this process' cores, else on all."""
    (folder / "run.xml").write_text(edit((EXAMPLES / example / f"{example}.xml").read_text()))
    words = [BUILD / "bin" / example, "run.xml", *map(str, arguments)]
    if cores:
        words = ["taskset", "-c", ",".join(map(str, sorted(os.sched_getaffinity(0))[:cores])), *words]
    done = subprocess.run(words, cwd=folder, env={**os.environ, "LEAT_RUNTIME_DIR": str(folder / "r"), **environment},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=2 * LIMIT)
    assert done.returncode == 0, done.stdout + done.stderr
    found = dict(re.findall(r"(\w+) (\S+)", done.stdout.splitlines()[0]))
    return {word: text if word == "checksum" else float(text) for word, text in found.items()}

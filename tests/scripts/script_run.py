# SPDX-License-Identifier: Apache-2.0
"""A Run with scripts, and what they have left behind."""
import contextlib
import csv
import pathlib
import sys
import textwrap
import time

from leat_run import LIMIT, Run, xml

ROW = '<layout name="row" type="double" dimensions="8" names="x"/><variable name="a" layout="row" unit="K"/>'
SIZE = 64  # bytes of a block of it


def put(folder, name, code):
    """analysis/<name>.py. Written beside and renamed: a worker may look at any moment."""
    path = pathlib.Path(folder) / "analysis" / f"{name}.py"
    path.parent.mkdir(exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(textwrap.dedent(code))
    part.rename(path)
    return path


def config(data=ROW, scripts="", folder="", inside="", skip=False, interpreter=sys.executable, **others):
    """XML with <scripts scripts><folder path="analysis" folder>inside</folder></scripts>. Scripts see all iterations unless they may
    skip."""
    if not skip and "when-slow" not in folder:
        folder += ' when-slow="wait"'
    folders = f'<folder path="analysis" {folder}>{inside}</folder>'
    text = f'<scripts interpreter="{interpreter}" {scripts}>{folders}</scripts><log level="debug"/>'
    return xml(data, log=text, **others)


@contextlib.contextmanager
def script_run(folder, text, ranks=1, **others):
    with Run(folder, text, ranks=ranks, **others) as run:
        run.init()
        yield run
        if all(rank.process.poll() is None for rank in run.ranks):
            run.finish()


def write_iterations(run, numbers, name="a", size=SIZE, seed=lambda number, rank: 100 * rank + number):
    for number in numbers:
        for rank in run.ranks:
            answer = rank.write(name, size, seed(number, rank.number))
            assert answer.ok, answer
            rank.end()


def table(folder, script, name="run"):
    """Rows of a script's CSV: {column: text}."""
    with open(pathlib.Path(folder) / f"{name}-scripts" / f"{script}.csv", newline="") as file:
        return list(csv.DictReader(file))


def rows(folder, script):
    try:
        return table(folder, script)
    except FileNotFoundError:
        return []


def wait_until(condition, what):
    until = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < until, f"waited in vain: {what}"
        time.sleep(0.01)


def last_report(run, script):
    """The line on this script at the end of the run."""
    lines = [line for line in run.log().splitlines() if f'script "{script}": ' in line and " call" in line]
    assert lines, run.log()
    return lines[-1]

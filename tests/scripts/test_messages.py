# SPDX-License-Identifier: Apache-2.0
"""Mistakes of users, and what they are told: at the start where it can be known then."""
import os
import re
import stat
import sys

import pytest
from leat_run import Run
from script_run import ROW, config, put, script_run, write_iterations


def refusal(folder, text):
    with Run(folder, text) as run:
        answer = run.ranks[0].init()
        run.ranks[0].kill()
    assert answer.status == "LEAT_ERROR_CONFIG", answer
    return answer.error


def test_a_missing_folder_is_an_error_at_the_start(tmp_path):
    error = refusal(tmp_path, config())
    assert "run.xml:" in error and f'there is no folder "{tmp_path}/analysis"' in error


def test_a_missing_interpreter_is_an_error_at_the_start(tmp_path):
    put(tmp_path, "s", "def process(ds, ctx): pass")
    error = refusal(tmp_path, config().replace(sys.executable, "python9"))
    assert 'there is no program "python9"' in error and 'interpreter="/path/to/python3"' in error


def test_a_folder_that_everybody_may_change_is_refused(tmp_path):
    path = put(tmp_path, "s", "def process(ds, ctx): pass")
    path.parent.chmod(0o777)
    assert "may be changed by everybody" in refusal(tmp_path, config())


def test_a_script_that_everybody_may_change_is_not_run(tmp_path):
    path = put(tmp_path, "s", "def process(ds, ctx): ctx.log('I run')")
    path.chmod(path.stat().st_mode | stat.S_IWOTH)
    with script_run(tmp_path, config()) as run:
        write_iterations(run, range(2))
    assert "s.py may be changed by everybody" in run.log() and "I run" not in run.log()


def test_a_script_in_a_folder_that_everybody_may_change_is_refused_sticky_or_not(tmp_path):
    path = put(tmp_path, "s", "def process(ds, ctx): ctx.log('I run')")
    text = re.sub("<folder path=.*?</folder>", '<script file="analysis/s.py"/>', config())
    assert "<script " in text
    path.parent.chmod(0o1777)
    assert "analysis may be changed by everybody" in refusal(tmp_path, text)


def test_a_python_without_numpy_is_told_once_and_the_run_goes_on(tmp_path):
    python = tmp_path / "bare_python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    python.chmod(0o700)
    for name in ("s", "t"):
        put(tmp_path, name, "def process(ds, ctx): pass")
    other = tmp_path / "bin" / "python3"
    other.parent.mkdir()
    other.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    other.chmod(0o700)
    path = {"PATH": f"{other.parent}:{os.environ['PATH']}"}
    with script_run(tmp_path, config().replace(sys.executable, str(python)), environment=path) as run:
        write_iterations(run, range(3))
    assert run.log().count("scripts cannot run: ") == 1
    assert f'say interpreter="{other}" in <scripts>, which has it, or install it: {sys.executable} -m pip install numpy' in run.log()
    assert run.log().count('scripts "s", "t" were called for none of 3 iterations') == 3, run.log()
    assert run.log().count("cannot import NumPy") == 2  # at once in the log, and by leat_finalize
    assert "done: 3 iterations ended, 3 stored (192 B), nothing lost" in run.log()


CASES = {
    "import surely_missing\ndef process(ds, ctx): pass": ["line 1", "No module named 'surely_missing'"],
    "import leat\n@leat.on_iteration(variables=['temperatur'])\ndef f(ds, ctx): pass":
        ["{}.py:2", 'there is no variable "temperatur" in the XML; did you mean "temperature"?'],
    "def process(ds): pass": ["{}.py:1", "process(ds) must take the data and the context: def process(ds, ctx)"],
    "x = 1": ["has no function for Leat", "def process(ds, ctx)"],
    "import leat\n@leat.on_iteration(every=0)\ndef f(ds, ctx): pass": ["line 2", "a whole number from 1 is expected"],
    "import leat\n@leat.on_iteration(arrays='list')\ndef f(ds, ctx): pass": ['"xarray", "numpy" or "dask" is expected'],
    "def process(ds, ctx): ds.temperature[0] = 1": ["read-only", "T = ds.temperature.copy()"],
    "def process(ds, ctx): ctx.scalar('x', 'text')": ['ctx.scalar("x", ...): a number is expected'],
    "def process(ds, ctx): ctx.scalar('x', ds.temperature)": ["a number is expected", "shape (8,)"],
    "def process(ds, ctx): ctx.scalar('x', 1); ctx.scalar('x', 2)": ['"x" was given twice in iteration 0'],
    "def process(ds, ctx): ctx.store('x', ds.temperature.values, dims=['a', 'b'])": ["2 names for 1 dimensions"],
    "def process(ds, ctx): ctx.image('x', ds.temperature)": ["a matplotlib figure, a 2-D array, or an array of bytes"],
    "def process(ds, ctx): ctx.set('dtt', 1)": ['there is no parameter "dtt" in the XML; did you mean "dt"?'],
    "def process(ds, ctx): ctx.set('dt', 'fast')": ['ctx.set("dt", \'fast\'): the parameter is of type double'],
    "def process(ds, ctx): ctx.blocks('temp')": ['there is no variable "temp" in the XML'],
    "def process(ds, ctx): ds['temperatur']": ["KeyError", 'This function has no variable "temperatur"; did you mean "temperature"?'],
    "import leat\n@leat.on_iteration(arrays='numpy')\ndef f(ds, ctx): ds['p']":
        ["KeyError", 'This function has no variable "p"; there are: temperature'],
    "def process(ds, ctx):\n  pass\n pass": ["line 3", "IndentationError"],
}


@pytest.fixture(scope="module")
def explained(tmp_path_factory):
    """{number of the case: what the log says of its error}, of one run with all of them."""
    folder = tmp_path_factory.mktemp("cases")
    for number, code in enumerate(CASES):
        put(folder, f"case{number}", code)
    row = ROW.replace('name="a"', 'name="temperature"') + '<parameter name="dt" type="double" value="1"/>'
    with script_run(folder, config(row)) as run:
        write_iterations(run, range(1), name="temperature")
    assert "done: 1 iteration ended, 1 stored (64 B), nothing lost" in run.log()
    said = re.findall(r" error: script \"case(\d+)\"(.*?)(?=^\d{4}-\d\d-\d\d |\Z)", run.log(), re.M | re.S)
    assert sorted(int(number) for number, _ in said) == list(range(len(CASES))), run.log()
    return {int(number): text for number, text in said}


@pytest.mark.parametrize("number", range(len(CASES)))
def test_a_mistake_in_a_script_is_explained(explained, number):
    for words in list(CASES.values())[number]:
        assert words.replace("{}", f"case{number}") in explained[number], explained[number]
    assert "another exception occurred" not in explained[number]


def test_the_log_has_the_users_own_frames_once_and_the_scripts_log_has_all(tmp_path):
    put(tmp_path, "s", """
        import numpy as np, statistics
        def process(ds, ctx):
            ctx.scalar("i", ctx.iteration)
            inner(ctx.iteration)
        def inner(number):
            if number == 3:
                statistics.mean([])
            np.linalg.inv(np.zeros((2, 2)))
        """)
    with script_run(tmp_path, config(folder='failures="9"')) as run:
        write_iterations(run, range(6))
    log, own = run.log(), (tmp_path / "run-scripts" / "s.log").read_text()
    assert log.count("in inner") == 2 and log.count("Traceback") == 2, log
    assert "site-packages" not in log and "statistics.py" not in log
    assert "6 FAILED: numpy.linalg.LinAlgError: Singular matrix" in log.replace("6 FAILED: LinAlg", "6 FAILED: numpy.linalg.LinAlg")
    assert f"The whole traceback is in {tmp_path}/run-scripts/s.log" in log
    assert own.count("Traceback") == 2 and "statistics.py" in own and "linalg" in own and "iteration 0" in own
    assert "iteration 3" in own and "scripting/" not in own

# SPDX-License-Identifier: Apache-2.0
"""`leat check` finds what is wrong with the scripts of a run before the run."""
import json
import os
import platform
import stat
import subprocess
import sys
import time

import pytest
from leat_run import BUILD

XML = """<simulation name="heat">
  <data>
    <layout name="cells" type="double" dimensions="4"/>
    <variable name="temperature" layout="cells"/>
    <group name="fields"><variable name="pressure" layout="cells"/></group>
  </data>
  <scripts interpreter="{interpreter}">
    {sources}
  </scripts>
</simulation>
"""
FOLDER = '<folder path="analysis"/>'
GOOD = "def process(ds, ctx): pass\n"


def check(folder, scripts, *words, sources=FOLDER, interpreter=sys.executable, environment=None):
    """scripts: {name: text} in the folder analysis."""
    (folder / "analysis").mkdir(exist_ok=True)
    for name, text in scripts.items():
        (folder / "analysis" / f"{name}.py").write_text(text)
    (folder / "heat.xml").write_text(XML.format(sources=sources, interpreter=interpreter))
    return subprocess.run([BUILD / "bin/leat", "check", "heat.xml", *words], cwd=folder, capture_output=True, text=True,
                          env={**os.environ, **(environment or {})}, timeout=120)


def test_good_scripts_are_on_the_screen_with_what_they_want(tmp_path):
    every = ('import leat\n@leat.on_iteration(variables=["temperature", "fields/pressure"], every=10)\ndef hottest(ds, ctx): pass\n'
             "@leat.on_iteration\ndef second(ds, ctx): pass\n")
    done = check(tmp_path, {"b": every, "a": "print('noise')\n" + GOOD, "_helper": "raise SystemExit"})
    assert done.returncode == 0 and done.stderr == ""
    assert """
2 scripts
  name  function  variables                     called
  a     process   all                           every iteration
  b     hottest   temperature, fields/pressure  every 10 iterations
  b     second    all                           every iteration
""" in done.stdout
    assert "noise" not in done.stdout and done.stdout.endswith("good\n")


def test_json_has_the_scripts(tmp_path):
    text = "import leat\n@leat.on_iteration(variables='temperature', every=3)\ndef f(ds, ctx): pass\n"
    facts = json.loads(check(tmp_path, {"one": text, "two": GOOD}, "--json").stdout)
    assert facts["good"] is True and facts["scripts"] == [
        {"name": "one", "file": "analysis/one.py", "functions": [{"name": "f", "variables": ["temperature"], "every": 3, "line": 2,
                                                                             "products": [], "publishes": [], "events": []}]},
        {"name": "two", "file": "analysis/two.py", "functions": [{"name": "process", "variables": None, "every": 1, "line": 1,
                                                                             "products": [], "publishes": [], "events": []}]}]


def test_a_model_without_scripts_has_none():
    case = BUILD.parent / "tests/config/good_example.xml"
    case = case if case.exists() else os.path.join(os.path.dirname(__file__), "../config/good_example.xml")
    facts = json.loads(subprocess.run([BUILD / "bin/leat", "check", case, "--json"], capture_output=True, text=True).stdout)
    assert facts["scripts"] == []


BAD = {
    "syntax": ("def process(ds, ctx):\n    x = (\n", 2, "'(' was never closed"),
    "module": ("import leat\nimport no_such_module\n", 2, "ModuleNotFoundError: No module named 'no_such_module'; install it for"),
    "nothing": ("x = 1\n", None, "the script has no function for Leat: write def process(ds, ctx)"),
    "arguments": ("import leat\n\n@leat.on_iteration\ndef f(ds): pass\n", 3, "f(ds) must take the data and the context"),
    "variable": ("import leat\n\n\n@leat.on_iteration(variables=['temprature'])\ndef f(ds, ctx): pass\n", 4,
                 'there is no variable "temprature" in the XML; did you mean "temperature"?'),
    "group": ("import leat\n@leat.on_iteration(variables=['pressure'])\ndef f(ds, ctx): pass\n", 2,
              'no variable "pressure" in the XML; did you mean "fields/pressure"?'),
    "every": ("import leat\n@leat.on_iteration(every=0)\ndef f(ds, ctx): pass\n", 2,
              "on_iteration(every=0): a whole number from 1 is expected"),
    "word": ("import leat\n@leat.on_iteration(every='often')\ndef f(ds, ctx): pass\n", 2, "a whole number from 1 is expected"),
    "raises": ("def f():\n    1 / 0\n\n\nf()\n", 2, "ZeroDivisionError: division by zero"),
    "leaves": ("import sys\nsys.exit('I leave')\n", 2, "SystemExit: I leave"),
    "ends": ("import os\n\nos._exit(7)\n", None, "importing it ended Python with status 7"),
    "crashes": ("import ctypes\n\n\nctypes.string_at(0)\n", 4, "importing it crashed Python: it was killed by signal 11"),
}


def test_all_that_is_wrong_is_said_at_once_with_its_line(tmp_path):
    done = check(tmp_path, {name: text for name, (text, _, _) in BAD.items()} | {"good": GOOD})
    assert done.returncode == 1 and f"{len(BAD)} errors in heat.xml\n" in done.stderr
    lines = done.stderr.splitlines()
    for name, (_, line, message) in BAD.items():
        place = f"analysis/{name}.py" + (f":{line}" if line else "") + ": error: "
        assert [each for each in lines if each.startswith(place) and message in each], (name, done.stderr)


def test_a_script_may_have_several_errors(tmp_path):
    text = ("import leat\n@leat.on_iteration(variables=['a', 'temperature', 'b'])\ndef f(ds, ctx): pass\n"
            "@leat.on_iteration(variables=['c'])\ndef g(): pass\n")
    done = check(tmp_path, {"s": text}, "--json")
    found = [(d["line"], d["message"].split(" in the")[0]) for d in json.loads(done.stdout)["diagnostics"]]
    assert found == [(2, 'there is no variable "a"'), (2, 'there is no variable "b"'),
                     (4, "g() must take the data and the context: def g(ds, ctx)"), (4, 'there is no variable "c"')]


def test_a_script_that_hangs_is_told_and_the_others_are_checked(tmp_path):
    hangs = "import subprocess, time\nsubprocess.Popen(['sleep', '1000'])\n\n\ntime.sleep(1000)\n"
    began = time.monotonic()
    done = check(tmp_path, {"a_hangs": hangs, "b_hangs": "while True: pass\n", "c": BAD["syntax"][0]}, "--import-limit", "2")
    assert time.monotonic() - began < 20 and done.returncode == 1
    assert "analysis/a_hangs.py:5: error: it was not imported within 2 s" in done.stderr
    assert "analysis/b_hangs.py:1: error: it was not imported within 2 s" in done.stderr
    assert "analysis/c.py:2: error: '(' was never closed" in done.stderr


def test_an_interpreter_that_hangs_does_not_hang_the_check(tmp_path):
    (tmp_path / "numpy.py").write_text("import time\ntime.sleep(1000)\n")
    done = check(tmp_path, {"s": GOOD}, "--import-limit", "1", environment={"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 1 and "heat.xml:7:12: error: the scripts could not be imported: " in done.stderr
    assert "it took too long" in done.stderr


def test_a_python_without_numpy_is_an_error_of_the_element(tmp_path):
    (tmp_path / "numpy.py").write_text("raise ImportError('none here')\n")
    done = check(tmp_path, {"s": GOOD}, environment={"PYTHONPATH": str(tmp_path)})
    own = f"{sys.executable} (Python {platform.python_version()})"
    assert done.returncode == 1 and f"heat.xml:7:12: error: {own} cannot import NumPy: none here" in done.stderr


def test_a_python_without_xarray_is_a_note_unless_a_script_asks_for_it(tmp_path):
    (tmp_path / "xarray.py").write_text("raise ImportError('none here')\n")
    done = check(tmp_path, {"s": GOOD}, environment={"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 0 and f"heat.xml:7:12: note: {sys.executable} has no xarray" in done.stderr
    asks = "import leat\n@leat.on_iteration(arrays='xarray')\ndef f(ds, ctx): pass\n"
    done = check(tmp_path, {"s": asks}, environment={"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 1 and 'analysis/s.py:2: error: arrays="xarray": ' in done.stderr


@pytest.mark.parametrize("sources, message", [
    ('<folder path="analyses"/>', 'heat.xml:8:13: error: there is no folder "{}/analyses": paths of scripts start from'),
    ('<script file="one.py"/>', 'heat.xml:8:13: error: there is no file "{}/one.py"'),
    ('<script file="analysis"/>', 'heat.xml:8:13: error: there is no file "{}/analysis"')])
def test_sources_that_are_not_there_are_errors(tmp_path, sources, message):
    done = check(tmp_path, {"bad": "x = (\n"}, sources=sources + FOLDER)
    assert done.returncode == 1 and message.format(tmp_path) in done.stderr
    assert "analysis/bad.py:1: error: '(' was never closed" in done.stderr  # the rest is looked at all the same


def test_an_interpreter_that_is_not_there_is_an_error(tmp_path):
    done = check(tmp_path, {"s": GOOD}, interpreter="/no/such/python")
    assert done.returncode == 1 and 'heat.xml:7:12: error: there is no program "/no/such/python"' in done.stderr


def test_what_is_no_python_is_an_error(tmp_path):
    done = check(tmp_path, {"s": GOOD}, interpreter="/bin/true")
    assert done.returncode == 1 and "/bin/true did not say what it found" in done.stderr


def test_a_folder_that_everybody_may_write_to_is_refused(tmp_path):
    (tmp_path / "analysis").mkdir()
    (tmp_path / "analysis").chmod(0o777 | stat.S_ISVTX)
    done = check(tmp_path, {"s": "raise SystemExit('run all the same')"})
    assert done.returncode == 1 and "analysis may be changed by everybody" in done.stderr and "all the same" not in done.stderr


def test_a_run_refuses_to_start_with_the_same_words(tmp_path):
    from leat_run import Run
    xml = XML.format(sources='<folder path="analyses"/><script file="one.py"/>', interpreter="/no/such/python")
    with Run(tmp_path, xml) as run:
        answer = run.ranks[0].init()
        assert answer.status == "LEAT_ERROR_CONFIG"
        for message in ('no program "/no/such/python"', 'no folder "', 'no file "'):
            assert message in answer.error

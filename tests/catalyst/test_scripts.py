# SPDX-License-Identifier: Apache-2.0
"""How Catalyst scripts are run: executed once, anew when they change, with arguments and parameters; what is wrong is said."""
import json
import re
import subprocess

import numpy as np
import pytest
from arrays_run import write_arrays
from catalyst_run import BOX, HERE, config, draw, errors_in, image, paraview_python
from control_run import wait_until
from judges import environment
from leat_run import BUILD

ZEROS = np.zeros((16, 16, 16))
HEAD = "# script-version: 2.0\nfrom paraview import catalyst\nfrom paraview.simple import *\n"


def arrays(iterations, value=float):
    return [{("temperature", i): ZEROS + value(i) for i in range(iterations)}]


def put(folder, code, name="pipe"):
    path = folder / f"{name}.py"
    path.write_text(HEAD + code)
    return path


def lines(folder, name="told.txt"):
    path = folder / name
    return path.read_text().splitlines() if path.exists() else []


TELL = '''
def tell(*words):
    with open("told.txt", "a") as file:
        print(*words, file=file)
'''
PIPE = TELL.replace("told", "pipe") + '''
tell("executed", catalyst.get_args())
def catalyst_execute(info):
    tell(info.timestep, info.time, catalyst.get_execute_params())
def catalyst_finalize():
    tell("ends")
print("printed")
'''
EXTRACTS = TELL + '''
def catalyst_execute(info):
    tell("{name}", catalyst.get_args())
extract = CreateExtractor("VTI", PVTrivialProducer(registrationName="box"), registrationName="e")
extract.Writer.FileName = "box.vti"
'''
NEWER = "# script-version: 2.0\n# Catalyst state generated using paraview version 6.0.0\n"


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """(folder, log) of a run whose one process has the scripts pipe, a, b, old and newer."""
    folder = tmp_path_factory.mktemp("several")
    put(folder, PIPE)
    for name in "ab":
        put(folder, EXTRACTS.format(name=name), name)
    (folder / "old.py").write_text(LEGACY)
    (folder / "newer.py").write_text(NEWER)
    text = config(BOX, *(folder / f"{name}.py" for name in ("pipe", "a", "b", "old", "newer")), of_scripts='workers="1"')
    for name, words in (("pipe", """args="--x-cut 0.25 --name 'a b'" every="2\""""), ("a", 'args="1"'), ("b", 'args="2"')):
        text = text.replace(f'/{name}.py" form', f'/{name}.py" {words} form')
    return folder, write_arrays(folder, text, arrays(3))


def test_it_is_executed_once_and_gets_arguments_and_parameters(several):
    folder, log = several
    executed = "executed ['--x-cut', '0.25', '--name', 'a b']"
    assert lines(folder, "pipe.txt") == [executed, "0 0.0 ['ranks=1']", "2 2.0 ['ranks=1']", "ends"], log
    assert 'info: script "pipe": printed' in log


def test_scripts_in_one_process_have_their_own_arguments_and_folders(several):
    folder, log = several
    assert sorted(lines(folder)) == 3 * ["a ['1']"] + 3 * ["b ['2']"], log
    assert (folder / "run-scripts/a/box.vti").exists() and (folder / "run-scripts/b/box.vti").exists()


def test_an_older_script_runs_too(several):
    folder, log = several
    assert sorted(path.name for path in (folder / "run-scripts/old").iterdir()) == ["image_0.png", "image_1.png", "image_2.png"], log


def test_a_newer_script_is_said_in_the_log_too(several):
    assert "exported by ParaView 6.0, and this Python has ParaView 5.11" in several[1]


def test_a_changed_script_is_executed_anew_without_what_it_made_before(tmp_path):
    code = TELL + '''
view = CreateRenderView(ViewSize=[20, 10])
Show(PVTrivialProducer(registrationName="box"), view)
png = CreateExtractor("PNG", view, registrationName="p").Writer
png.FileName, png.ImageResolution = "{name}_{{timestep}}.png", [20, 10]
tell("views", len(GetRenderViews()))
'''
    put(tmp_path, code.format(name="first"))

    def change(run, iteration):
        if iteration == 0:
            wait_until(lambda: (tmp_path / "run-scripts/pipe/first_0.png").exists(), "the first picture")
            put(tmp_path, code.format(name="second"), "new").rename(tmp_path / "pipe.py")
    log = write_arrays(tmp_path, config(BOX, tmp_path / "pipe.py"), arrays(3), change)
    assert lines(tmp_path) == ["views 1", "views 1"], log
    assert sorted(path.name for path in (tmp_path / "run-scripts/pipe").glob("*.png")) == ["first_0.png", "second_1.png", "second_2.png"]
    assert image(tmp_path / "run-scripts/pipe/second_2.png").shape == (10, 20, 3)


RAISES = {"raises": ("1 / 0\n", "line 4, in <module>"),
          "says_no": ("def catalyst_execute(info):\n    raise ValueError('no')\n", "ValueError: no"),
          "ends": ("import sys\nsys.exit(3)\n", "it has called sys.exit(3), which ends no process here")}


def test_what_scripts_raise_and_errors_of_paraview_are_said(tmp_path):
    """Of several in one process; errors of ParaView, which it raises nowhere, once for each text."""
    for name, (code, _) in RAISES.items():
        put(tmp_path, code, name)
    put(tmp_path, "def catalyst_execute(info):\n    Contour(Input=FindSource('nothing')).UpdatePipeline()\n", "of_paraview")
    log = draw(tmp_path, BOX, arrays(4), *(tmp_path / f"{name}.py" for name in [*RAISES, "of_paraview"]), of_scripts='workers="1"')
    assert "leat/catalyst" not in log
    for name, (_, told) in RAISES.items():
        assert told in errors_in(log, name, 0) and re.search(f'script "{name}": 3 calls.* 3 FAILED', log), log
    assert log.count("Algorithm vtkPVContourFilter") == 1 and 'script "of_paraview": 4 calls' in log, log
    assert 'script "of_paraview" failed' not in log, log


LEGACY = '''
from paraview.simple import *
from paraview import coprocessing

def CreateCoProcessor():
    def _CreatePipeline(coprocessor, datadescription):
        class Pipeline:
            box = coprocessor.CreateProducer(datadescription, "input")
            view = CreateView("RenderView")
            view.ViewSize = [30, 20]
            coprocessor.RegisterView(view, filename="image_%t.png", freq=1, fittoscreen=0, magnification=1, width=30, height=20)
            Show(box, view)
        return Pipeline()

    class CoProcessor(coprocessing.CoProcessor):
        def CreatePipeline(self, datadescription):
            self.Pipeline = _CreatePipeline(self, datadescription)

    coprocessor = CoProcessor()
    coprocessor.SetUpdateFrequencies({"input": [1]})
    return coprocessor

coprocessor = CreateCoProcessor()

def RequestDataDescription(datadescription):
    coprocessor.LoadRequestedData(datadescription)

def DoCoProcessing(datadescription):
    coprocessor.UpdateProducers(datadescription)
    coprocessor.WriteImages(datadescription)
'''


def check(folder, script, attributes=""):
    (folder / "run.xml").write_text(config(BOX, script, attributes=attributes))
    done = subprocess.run([BUILD / "bin/leat", "check", "--json", "run.xml"], cwd=folder, capture_output=True, text=True, timeout=120)
    return [(each["severity"], each["message"]) for each in json.loads(done.stdout)["diagnostics"] if each["file"].endswith(".py")]


def test_leat_check_says_what_is_wrong(tmp_path):
    assert check(tmp_path, HERE / "exported/slice.py") == []
    newer = (HERE / "exported/slice.py").read_text().replace("paraview version 5.11.0", "paraview version 5.13.1")
    (tmp_path / "newer.py").write_text(newer)
    ((severity, message),) = check(tmp_path, tmp_path / "newer.py")
    assert severity == "warning" and "exported by ParaView 5.13, and this Python has ParaView 5.11" in message
    (tmp_path / "none.py").write_text("print('hello')\n")
    ((severity, message),) = check(tmp_path, tmp_path / "none.py")
    assert severity == "error" and 'no line "# script-version: 2.0"' in message
    ((severity, message),) = check(tmp_path, HERE / "exported/slice.py", "args=\"--name 'a\"")
    assert severity == "error" and "No closing quotation" in message
    (tmp_path / "bad.py").write_text(HEAD + "def f(:\n")
    ((severity, message),) = check(tmp_path, tmp_path / "bad.py")
    assert severity == "error" and "invalid syntax" in message


def test_a_python_without_paraview_is_said(tmp_path):
    (tmp_path / "run.xml").write_text(config(BOX, HERE / "exported/slice.py").replace(paraview_python(), str(environment() / "bin/python")))
    done = subprocess.run([BUILD / "bin/leat", "check", "run.xml"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert "has no ParaView: install Debian's python3-paraview and xvfb" in done.stdout + done.stderr

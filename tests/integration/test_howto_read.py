# SPDX-License-Identifier: Apache-2.0
"""docs/how-to/read-the-files.md: its code, run in its order on the files of its examples, and the screen that it shows."""
import os
import pathlib
import re
import subprocess
import sys

import h5py
import pytest
from leat_run import Run, xml
from mpi_run import mpirun
from neighbours import environment, leat
from warm_python import warm

ROOT = pathlib.Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/read-the-files.md").read_text()
SNIPPETS, OTHERS = (re.findall(r"```python\n(.*?)```", text, re.S) for text in PAGE.split("## In other formats"))
PARTICLES = """
<mesh name="atoms" type="points" coordinates="atoms/x"/>
<layout name="places" type="double" dimensions="?,3" names="atom,xyz"/><layout name="types" type="int" dimensions="?" names="atom"/>
<group name="atoms"><variable name="x" layout="places" unit="m"/><variable name="type" layout="types" mesh="atoms"/></group>"""


def particles(folder):
    with Run(folder, xml(PARTICLES, name="melt"), ranks=2) as run:
        for rank in (ranks := run.init()):
            rank.must("start_at", 10)
            rank.must("set_extent", "atoms/x", 0, f"{3 + rank.number},3")
            rank.must("set_extent", "atoms/type", 0, str(3 + rank.number))
            rank.must("write", "atoms/x", 0, 24 * (3 + rank.number), 1 + rank.number)
            rank.must("write", "atoms/type", 0, 4 * (3 + rank.number), 3 + rank.number)
        for rank in ranks:
            rank.end()
        run.finish()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """With the files of its examples."""
    folder = tmp_path_factory.mktemp("run")
    ranks, steps = re.search(r"mpirun -n (\d) heat heat.xml (\d+)", PAGE).groups()
    for example, program, n, count in (("heat_c", "heat", int(ranks), steps), ("amr_advection", "amr_advection", 3, 30)):
        (folder / f"{program}.xml").write_text((ROOT / f"examples/{example}/{program}.xml").read_text())
        mpirun(n, program, f"{program}.xml", count, cwd=folder)
    particles(folder)
    return folder


@pytest.fixture(scope="module")
def said(folder):
    """What the page's lines print, snippet by snippet."""
    code = "\nprint('----')\n".join(SNIPPETS)
    done = subprocess.run([sys.executable, "-W", "error::RuntimeWarning", "-c", code], cwd=folder, capture_output=True, text=True,
                          timeout=120, env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "python-plugins"), "COLUMNS": "120"})
    assert done.returncode == 0, done.stderr
    return [text.strip() for text in done.stdout.split("----\n")]


def test_the_screen_is_that_of_the_page(said):
    assert said[0] == re.search(r"```text\n(.*?)```", PAGE, re.S)[1].strip()


def test_arrays(said):
    lines = said[1].splitlines()
    assert lines[0].startswith("90 9.0 48 (64, 48) ") and [line.split()[0] for line in lines[1:]] == [str(n) for n in range(0, 100, 10)]
    float(said[2])


def test_blocks_and_particles(said):
    assert said[3].splitlines() == ['"atoms/x" of iteration 10: 2 blocks of differing shapes of ranks 0 and 1', "0 (3, 3)", "1 (4, 3)"]
    assert re.search(r"rank\n0 +3\n1 +4\n", said[4])


def test_levels_and_meshes(said):
    lines = said[5].splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["0", "1", "2"] and lines[0] == "0 64" and lines[3].endswith("(8, 8)")
    assert int(said[6]) > 1000


def test_following_a_run(said):
    assert said[7].splitlines()[-1] == "ended 0" and len(said[7].splitlines()) == 11


def test_other_formats(folder):
    for verb in re.findall(r"^leat (\w+) heat.h5", PAGE, re.M):
        assert leat(verb, "heat.h5", cwd=folder).returncode == 0
    python = warm(environment() / "bin/python")
    printed = [done.stdout.split() for code in OTHERS if (done := python.run(code, cwd=folder)).returncode == 0]
    with h5py.File(folder / "heat.h5") as file:
        assert printed == [[repr(float(file["temperature"][-1].max()))]] * len(OTHERS)

# SPDX-License-Identifier: Apache-2.0
"""docs/how-to/coming-from-damaris.md: each of its steps, with what it shows."""
import os
import pathlib
import re
import subprocess
import sys
import time

import h5py
import numpy as np
import pytest
from damaris_scripts import with_python
from leat_run import BUILD, LIMIT, Run, data, same_bits
from test_damaris_dask import python_with_dask

PAGE = (pathlib.Path(__file__).parents[2] / "docs/how-to/coming-from-damaris.md").read_text()
(XML,) = re.findall(r"```xml\n(.*?)```", PAGE, re.S)
SCRIPT, READ, EDIT, READ_WHOLE = re.findall(r"```python\n(.*?)```", PAGE, re.S)
CHECK, LIST, GREP, DASK, CONVERT = re.findall(r"```sh\n(.*?)```", PAGE, re.S)
RANKS, ITERATIONS = 4, 4


@pytest.fixture
def shell(tmp_path):
    environment = {**os.environ, **with_python(tmp_path), "LEAT_RUNTIME_DIR": str(tmp_path / "r-run")}
    environment["PATH"] = f"{BUILD / 'bin'}:{environment['PATH']}"

    def run(*words, **more):
        done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, **more)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr
    return run


def simulate(folder, text):
    """What the page's reader has: the program."""
    with Run(folder, text, ranks=RANKS, environment=with_python(folder)) as run:
        for rank in run.init():
            rank.must("set_position", "temperature", 0, f"{rank.number * 8},0")
        for iteration in range(ITERATIONS):
            for rank in run.ranks:
                assert rank.write("temperature", 8 * 8 * 64, 10 * iteration + rank.number).ok
                rank.end()
        run.finish()


def rows(iteration, rank):
    return data(8 * 64, "f8", 10 * iteration + rank).reshape(8, 64)


def test_each_step_of_the_page(tmp_path, shell):
    (tmp_path / "plate.xml").write_text(XML)
    (tmp_path / "means.py").write_text(SCRIPT)
    assert "error" not in (said := shell("sh", "-c", CHECK)) and "means" in said and "every 2 iterations" in said, said
    simulate(tmp_path, XML)
    printed = shell(sys.executable, "-c", READ)
    assert printed.splitlines() == [f"{rank} (8, 64) b'K'" for rank in range(RANKS)]
    with h5py.File(tmp_path / "output/plate_It2_Pr0.h5") as file:
        assert all(same_bits(file[f"temperature/P{rank}"][...], rows(2, rank)) for rank in range(RANKS))
    listed = shell("sh", "-c", LIST)
    assert all(f"plate_It{i}_Pr0.h5" in listed for i in range(ITERATIONS)), listed
    means = re.findall(r"iteration (\d) block P(\d)_B0 mean (\S+)", shell("sh", "-c", GREP))
    assert means == [(str(i), str(rank), str(rows(i, rank).mean())) for i in (0, 2) for rank in range(RANKS)]


def test_the_steps_behind_the_first_run(tmp_path, shell):
    (tmp_path / "plate.xml").write_text(XML)
    (tmp_path / "means.py").write_text(SCRIPT)
    shell("sh", "-c", CONVERT)
    assert "damaris.gforge" not in (tmp_path / "plate-leat.xml").read_text()
    shell(sys.executable, "-c", EDIT)
    simulate(tmp_path, (tmp_path / "plate-leat.xml").read_text())
    assert shell(sys.executable, "-c", READ_WHOLE) == "(4, 32, 64)\n"
    with h5py.File(tmp_path / "output/plate.h5") as file:
        assert all(same_bits(file["temperature"][i], np.concatenate([rows(i, r) for r in range(RANKS)])) for i in range(ITERATIONS))


def test_the_line_that_starts_a_scheduler_does(tmp_path):
    python = pathlib.Path(python_with_dask())
    environment = {**os.environ, "PATH": f"{python.parent}:{os.environ['PATH']}"}
    with subprocess.Popen([*DASK.split(), "--host", "127.0.0.1", "--no-dashboard", "--port", "0"], cwd=tmp_path, env=environment,
                          stderr=subprocess.DEVNULL) as scheduler:
        until = time.monotonic() + LIMIT
        while not (tmp_path / "dask.json").exists() and time.monotonic() < until:
            time.sleep(0.05)
        is_there = (tmp_path / "dask.json").exists()
        scheduler.terminate()  # which removes it
    assert is_there

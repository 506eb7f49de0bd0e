# SPDX-License-Identifier: Apache-2.0
"""Damaris' own examples of scripts, as they are, by their own XML. They are not ours to have here: LEAT_DAMARIS_EXAMPLES names the
folder examples/python of a copy of Damaris 1.7, where there is one."""
import os
import pathlib
import re
import sys

import numpy as np
import pytest
from damaris_scripts import with_python
from leat_run import Run, data
from test_damaris_dask import scheduler  # noqa: F401

EXAMPLES = pathlib.Path(os.environ.get("LEAT_DAMARIS_EXAMPLES", "/nowhere"))
pytestmark = pytest.mark.skipif(not EXAMPLES.is_dir(), reason="LEAT_DAMARIS_EXAMPLES names no folder")
ITERATIONS = 3


def run(folder, name, script, python, ranks, blocks, variables, **changes):
    """variables: {name: (bytes of an element, shape of a block of `blocks` of each of `ranks`)}."""
    text = (EXAMPLES / f"{name}.xml").read_text()
    for old, new in changes.items():
        text = re.sub(f'{old.replace("_", "-")}="[^"]*"', f'{old.replace("_", "-")}="{new}"', text)
    (folder / script).write_bytes((EXAMPLES / script).read_bytes())
    with Run(folder, text, ranks=ranks, environment=with_python(folder, python)) as run:
        for rank in run.init():
            rank.must("set_int", "size", ranks)
            if blocks > 1:
                rank.must("set_int", "blocks", blocks)
        for iteration in range(ITERATIONS):
            for rank in run.ranks:
                for number, (variable, (size, shape)) in enumerate(variables.items()):
                    for block in range(blocks if len(shape) > 1 else 1):
                        if len(shape) > 1:
                            rank.must("set_position", variable, block, f"{rank.number * shape[0]},0,{block * shape[2]}")
                        seed = 1000 * iteration + 100 * number + 10 * rank.number + block
                        assert rank.write(variable, size * int(np.prod(shape)), seed, block).ok
                rank.end()
        run.finish()
    return (folder / "log" / "3dmesh.log").read_text()


def cube(iteration, ranks, blocks, shape, dtype):
    parts = [[data(int(np.prod(shape)), dtype, 1000 * iteration + 10 * rank + block).reshape(shape) for block in range(blocks)]
             for rank in range(ranks)]
    return np.concatenate([np.concatenate(row, axis=2) for row in parts])


def test_3dmesh_py(tmp_path):
    log = run(tmp_path, "3dmesh_py", "3dmesh_py.py", sys.executable, 2, 1, {"cube_i": (4, (2, 8, 16)), "cube_f": (4, (2, 8, 16))})
    sums = re.findall(r"Python iteration  (\d) , Sum\(\) =  (-?\d+)", log)
    assert sums == [(str(i), str(int(cube(i, 2, 1, (2, 8, 16), "i4").sum()))) for i in range(ITERATIONS)], log
    assert log.count("cube_i") > 6 and "cube_f" in log


def test_3dmesh_dask(tmp_path, scheduler):  # noqa: F811
    log = run(tmp_path, "3dmesh_dask", "3dmesh_dask.py", scheduler[0], 2, 4,
              {"cube_i": (4, (8, 8, 4)), "last_iter": (4, (1,)), "array_sum": (8, (1,))}, scheduler_file=scheduler[1])
    sums = re.findall(r"Python iteration  (\d)  dask x.sum\(\) :=  (-?\d+)", log)
    assert sums == [(str(i), str(int(cube(i, 2, 4, (8, 8, 4), "i4").sum()))) for i in range(ITERATIONS)], log


def test_stats_3dmesh_dask(tmp_path, scheduler):  # noqa: F811
    log = run(tmp_path, "stats_3dmesh_dask", "stats_3dmesh_dask.py", scheduler[0], 2, 4,
              {"cube_d": (8, (14, 8, 4)), "last_iter": (4, (1,)), "array_sum": (8, (1,))}, scheduler_file=scheduler[1])
    assert log.count("We have called daskstats.update() using the new data") == ITERATIONS, log

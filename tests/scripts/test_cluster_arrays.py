# SPDX-License-Identifier: Apache-2.0
"""What a function of the whole run gets is what one of a node gets that has all ranks: same arrays, names, coordinates and attributes."""
import pickle
import subprocess
import sys

import numpy as np
import pytest
from leat_run import BUILD, Run
from nodes_run import NodesRun
from script_run import config, put

KEEP = """
    import pickle, leat

    @leat.on_iteration({words})
    def keep(ds, ctx):
        import xarray
        assert isinstance(ds, xarray.Dataset)
        with open(f"{folder}/{{ctx.iteration}}.pickle", "wb") as file:
            pickle.dump(ds.compute().copy(deep=True), file)
"""
VARIABLES = """
  <parameter name="n" type="int" value="3"/>
  <layout name="square" type="double" dimensions="4,6" global="16,6" names="y,x"/><variable name="u" layout="square" unit="K"/>
  <layout name="halo" type="int" dimensions="6,6" global="16,6" ghosts="1,0" names="y,x"/><variable name="ghosts" layout="halo"/>
  <layout name="own" type="float" dimensions="5"/><variable name="own" layout="own" unit="m"/>
  <layout name="few" type="double" dimensions="n" names="particle" varying="true"/><variable name="few" layout="few"/>
  <variable name="still" layout="square" time-varying="false"/>
"""


def write(ranks, iterations):
    for rank in ranks:
        for name in ("u", "still"):
            rank.must("set_position", name, 0, f"{4 * rank.number},0")
        rank.must("set_position", "ghosts", 0, f"{4 * rank.number},0")
        rank.must("write", "still", 0, 4 * 6 * 8, 7 + rank.number)
    for i in range(iterations):
        for rank in ranks:
            rank.must("set_int", "n", 1 + (rank.number + i) % 3)
            seed = 1000 * i + 10 * rank.number
            rank.must("write", "u", 0, 4 * 6 * 8, seed)
            rank.must("write", "ghosts", 0, 6 * 6 * 4, seed + 1)
            rank.must("write", "own", 0, 5 * 4, seed + 2)
            rank.must("write", "few", 0, (1 + (rank.number + i) % 3) * 8, seed + 3)
            rank.end()


def kept(folder):
    return {int(path.stem): pickle.loads(path.read_bytes()) for path in sorted(folder.glob("*.pickle"))}


@pytest.fixture(scope="module")
def of_one_node(tmp_path_factory):
    folder = tmp_path_factory.mktemp("one")
    put(folder, "keep", KEEP.format(words="", folder=folder))
    with Run(folder, config(VARIABLES), ranks=4) as run:
        write(run.init(), 3)
        run.finish()
    found = kept(folder)
    assert sorted(found) == [0, 1, 2]
    return found


@pytest.mark.parametrize("nodes, chunks", [([[0, 1, 2, 3]], "node"), ([[0], [1], [2], [3]], "node"), ([[0, 1], [2, 3]], "node"),
                                           ([[0, 2], [1, 3]], "node"), ([[0, 1, 2], [3]], "node"), ([[0, 2], [1, 3]], "block"),
                                           ([[0, 1, 2], [3]], "block")])
def test_arrays_are_those_of_one_node(tmp_path, of_one_node, nodes, chunks):
    put(tmp_path, "keep", KEEP.format(words=f'arrays="dask", scope="run", chunks="{chunks}"', folder=tmp_path))
    with NodesRun(tmp_path, config(VARIABLES), nodes) as run:
        write(run.init(), 3)
        run.finish()
        assert "failed" not in run.log(), run.log()
    found = kept(tmp_path)
    assert sorted(found) == sorted(of_one_node)
    is_sorted = [rank for node in nodes for rank in node] == [0, 1, 2, 3]
    for i, ds in found.items():
        expected = of_one_node[i]
        if not is_sorted:  # blocks come by servers, and say whose they are
            ds, expected = by_rank(ds), by_rank(expected)
        assert set(ds.variables) == set(expected.variables)
        for name in expected.variables:
            assert expected[name].variable.identical(ds[name].variable), (i, name, expected[name], ds[name])
        assert ds.attrs == expected.attrs
        assert np.array_equal(ds["u"].values, expected["u"].values)


def by_rank(ds):
    for dim in ds.dims:
        if f"{dim}_rank" in ds.variables:
            ds = ds.isel({dim: np.argsort(ds[f"{dim}_rank"].values, kind="stable")})
    return ds


@pytest.mark.parametrize("servers", [1, 4, 5])
def test_a_replay_gives_the_same_arrays(tmp_path, servers):
    put(tmp_path, "keep", KEEP.format(words='arrays="dask", scope="run"', folder=tmp_path))
    with NodesRun(tmp_path, config(VARIABLES), [[0, 1], [2, 3]]) as run:
        write(run.init(), 3)
        run.finish()
    live = kept(tmp_path)
    assert len(live) == 3
    for path in tmp_path.glob("*.pickle"):
        path.unlink()
    words = ["run.h5", "analysis/keep.py", "--nodes", str(servers), "--interpreter", sys.executable]
    said = subprocess.run([BUILD / "bin/leat", "replay", *words], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert said.returncode == 0, said
    replayed = kept(tmp_path)
    assert sorted(replayed) == sorted(live)
    for i, ds in replayed.items():
        for name in ("u", "ghosts", "own", "few", "still"):
            assert live[i][name].variable.identical(ds[name].variable), (i, name, live[i][name], ds[name])

# SPDX-License-Identifier: Apache-2.0
"""Where meshes lie, when the simulation says it: origin and spacing by parameters, cells between the nodes of a rectilinear mesh. Judged by
h5py, xarray, VTK's own reader and leat.open()."""
import json
import os
import pathlib
import signal
import subprocess
import sys

import h5py
import numpy as np
import pytest
import xarray as xr
from judges import complaints, vtk_says
from leat_run import BUILD, Run, data, same_bits, xml
from nodes_run import NodesRun
from script_run import config, put, script_run

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "python-plugins"))

import leat  # noqa: E402

PLATE = """<parameter name="x0" type="double"/><parameter name="lx" type="double"/><parameter name="nx" type="int"/>
<parameter name="dy" type="double" value="1"/>
<mesh name="plate" type="uniform" origin="x0,-2" spacing="lx/nx,dy" unit="m"/>
<layout name="cells" type="double" dimensions="3,nx" global="ROWS,nx" names="y,x"/>
<variable name="t" layout="cells" mesh="plate" unit="K" description="temperature"/>"""
WHOLE = PLATE.replace("ROWS", "3")
X, Y = [10.25, 10.75, 11.25, 11.75], [-1.875, -1.625, -1.375]
X_BOUNDS = [[10, 10.5], [10.5, 11], [11, 11.5], [11.5, 12]]
BYTES, COUNT = 96, 12


def place(rank, lx=2.0, x0=10.0, dy=0.25):
    for name, value in {"x0": x0, "lx": lx, "dy": dy}.items():
        if value is not None:
            rank.must("set_double", name, value)


def values(seed, shape=(3, 4)):
    return np.frombuffer(data(COUNT, "f8", seed).tobytes(), "f8").reshape(shape)


def write(run, iterations, **more):
    for number in iterations:
        for rank in run.ranks:
            rank.must("set_int", "nx", 4)
            place(rank, **more)
            assert rank.write("t", BYTES, number).ok
            rank.end()


def expect_places(path, x=X, y=Y, bounds=X_BOUNDS):
    with h5py.File(path) as file:
        assert file["x"][()].tolist() == x and file["y"][()].tolist() == y
        assert file["x"].attrs["bounds"] == b"x_bnds" or file["x"].attrs["bounds"] == "x_bnds"
        assert file["x_bnds"][()].tolist() == bounds and file["x"].attrs["units"] in ("m", b"m")
    with xr.open_dataset(path, engine="h5netcdf") as ds:
        assert ds.t.dims[1:] == ("y", "x")
        assert np.array_equal(ds.t.sel(x=x[1] + 0.01, method="nearest").values, ds.t[..., 1].values)
    with leat.open(path) as run:
        mesh = run.meshes["plate"]
        assert mesh.origin == [bounds[0][0], -2] and mesh.spacing == [x[1] - x[0], y[1] - y[0]]
        assert run["t"].x.values.tolist() == x and run[0]["t"].shape == (len(y), len(x))


def vtk_image(path):
    """(origin, spacing) as VTK's reader has them."""
    done = vtk_says("vtk_place.py", path)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_files_and_scripts_have_what_the_simulation_sets(tmp_path):
    put(tmp_path, "look", """
        import json, leat
        @leat.on_iteration(arrays="xarray")
        def process(ds, ctx):
            print("SEEN", json.dumps([ds.x.values.tolist(), ds.y.values.tolist(), ds[ds.x.attrs["bounds"]].values.tolist()]))
        """)
    with script_run(tmp_path, config(WHOLE)) as run:
        write(run, range(3))
        log = run.log()
    assert [json.loads(line.partition("SEEN ")[2]) for line in run.log().splitlines() if "SEEN " in line] == [[X, Y, X_BOUNDS]] * 3
    assert "nobody knows" not in log and "it lay at" not in log, log
    expect_places(tmp_path / "run.h5")
    assert vtk_image(tmp_path / "run.h5") == [[10, -2, 0], [0.5, 0.25, 1]]
    os.link(tmp_path / "run.h5", tmp_path / "run.nc")
    # Version 6.1.0 takes each axis "X" or "Y" for one that must be in degrees: see plugins/test_cf.py.
    assert [each for each in complaints(tmp_path / "run.nc") if "should define valid units for" not in each[2]] == []


@pytest.mark.parametrize("more, words", [
    ({"lx": None}, 'spacing along x ("lx/nx") needs lx, which has no value'),
    ({"lx": 0.0}, 'spacing along x ("lx/nx") is 0: the distance of nodes must be more than 0'),
    ({"lx": -1.0}, 'spacing along x ("lx/nx") is -0.25: the distance'),
    ({"lx": "nan"}, 'spacing along x ("lx/nx") is nan, which is no place'),
    ({"x0": "inf"}, 'origin along x ("x0") is inf, which is no place'),
], ids=["never set", "zero", "negative", "NaN", "infinite origin"])
def test_what_makes_no_place_is_said_and_data_are_stored(tmp_path, more, words):
    with Run(tmp_path, xml(WHOLE)) as run:
        run.init()
        write(run, range(2), **more)
        run.finish()
    assert f'run.xml:5:1: mesh "plate": in iteration 0 nobody knows where it lies: {words}' in run.log(), run.log()
    assert run.log().count("nobody knows") == 1 and "leat_set_double" in run.log()
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(file["t"][1], values(1)) and "VTKHDF" not in file and "x_bnds" not in file
    said = subprocess.run([BUILD / "bin/leat", "xdmf", "run.h5"], cwd=tmp_path, capture_output=True, text=True)
    assert "the parameters that say where it lies had no value" in said.stdout + said.stderr and "Traceback" not in said.stderr, said
    with leat.open(tmp_path / "run.h5") as stored:
        assert stored.meshes["plate"].is_unplaced and same_bits(stored[1]["t"], values(1))


def test_a_place_that_comes_later_is_known_from_then_on(tmp_path):
    with Run(tmp_path, xml(WHOLE)) as run:
        run.init()
        write(run, [0], lx=None)
        write(run, [1, 2])
        run.finish()
    with leat.open(tmp_path / "run.h5") as stored:
        assert stored.meshes["plate"].spacing == [0.5, 0.25] and same_bits(stored[2]["t"], values(2))
    assert vtk_image(tmp_path / "run.h5") == [[10, -2, 0], [0.5, 0.25, 1]]


def test_a_mesh_that_moves_keeps_its_first_place_in_files_and_is_said_once(tmp_path):
    put(tmp_path, "look", 'def process(ds, ctx):\n    print("SEEN", float(ds.x[0]))\n')
    with script_run(tmp_path, config(WHOLE)) as run:
        write(run, [0])
        write(run, [1, 2], x0=20.0)
    assert "it lay at origin (10, -2), spacing (0.5, 0.25) in iteration 0, and lies at origin (20, -2)" in run.log(), run.log()
    assert run.log().count("it lay at") == 1
    assert [line.partition("SEEN ")[2] for line in run.log().splitlines() if "SEEN " in line] == ["10.25", "20.25", "20.25"]
    expect_places(tmp_path / "run.h5")


def test_a_server_that_takes_over_knows_the_place(tmp_path):
    with Run(tmp_path, xml(WHOLE)) as run:
        run.init()
        write(run, range(2))
        os.kill(run.server(), signal.SIGKILL)
        run.await_end()
        for number in (2, 3):  # and nobody sets them again
            assert run.ranks[0].write("t", BYTES, number).ok
            run.ranks[0].end()
        run.finish()
    expect_places(tmp_path / "run.h5")
    assert vtk_image(tmp_path / "run.h5") == [[10, -2, 0], [0.5, 0.25, 1]]
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][()].tolist() == [0, 1, 2, 3] and same_bits(file["t"][3], values(3))


NODES = PLATE.replace("ROWS", "6")


@pytest.mark.parametrize("store", ['<store name="out" type="hdf5"/>', '<store name="out" type="hdf5" files="1"/>'], ids=["parts", "shared"])
def test_views_of_several_nodes_have_it(tmp_path, store):
    with NodesRun(tmp_path, xml(NODES, store=store), [[0], [1]]) as run:
        run.init()
        for number in range(2):
            for rank in run.ranks:
                rank.must("set_int", "nx", 4)
                place(rank)
                rank.must("set_position", "t", 0, f"{3 * rank.number},0")
                assert rank.write("t", BYTES, 10 * number + rank.number).ok
                rank.end()
        run.finish()
    expect_places(tmp_path / "run.h5", y=[*Y, -1.125, -0.875, -0.625])
    assert vtk_image(tmp_path / "run.h5") == [[10, -2, 0], [0.5, 0.25, 1]]
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(file["t"][1], np.concatenate([values(10), values(11)]))


def begun_run(folder):
    """The XML of a run that another one goes on with, behind iteration 1."""
    text = xml(WHOLE, store='<store name="out" type="hdf5" append="true"/>')
    with Run(folder, text) as run:
        run.init()
        write(run, range(2))
        run.finish()
    return text


def test_a_restart_goes_on_in_the_same_place_only(tmp_path):
    text = begun_run(tmp_path)
    with Run(tmp_path, text) as again:
        again.init()
        again.ranks[0].must("start_at", 2)
        write(again, [2])
        again.finish()
    expect_places(tmp_path / "run.h5")
    before = (tmp_path / "run.h5").read_bytes()
    with Run(tmp_path, text) as elsewhere:
        elsewhere.init()
        elsewhere.ranks[0].must("start_at", 3)
        write(elsewhere, [3], lx=4.0)
        elsewhere.ranks[0].start("finalize")
        elsewhere.ranks[0].result()
    said = 'mesh "plate": spacing is (0.5, 0.25) in the file, and (1, 0.25) in this run'
    assert said in elsewhere.log(), elsewhere.log()
    assert (tmp_path / "run.h5").read_bytes() == before


def test_a_place_that_comes_later_in_an_appended_run_has_to_be_that_of_the_file(tmp_path):
    text = begun_run(tmp_path)
    with Run(tmp_path, text) as again:
        (rank,) = again.init()
        rank.must("start_at", 2)
        rank.must("set_int", "nx", 4)
        assert rank.write("t", BYTES, 2).ok
        rank.end()
        write(again, [3, 4], x0=7.0)
        rank.start("finalize")
        assert rank.result().status == "LEAT_ERROR_LOST"
    assert 'mesh "plate": origin is (10, -2) in the file, and (7, -2) in this run' in again.log(), again.log()
    expect_places(tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["leat/iteration_complete"][:].tolist() in ([1, 1, 1], [1, 1, 1, 0, 0])


def test_a_view_of_servers_with_other_places_says_so(tmp_path):
    with NodesRun(tmp_path, xml(PLATE.replace("ROWS", "6")), [[0], [1]]) as run:
        run.init()
        for rank in run.ranks:
            rank.must("set_int", "nx", 4)
            place(rank, x0=10.0 + rank.number)
            rank.must("set_position", "t", 0, f"{3 * rank.number},0")
            assert rank.write("t", BYTES, rank.number).ok
            rank.end()
        answers = run.finalize()
        said = run.log()
    assert "LEAT_ERROR_LOST" in {answer.status for answer in answers}
    assert 'run.h5 does not show where mesh "plate" lies in rank000001' in said, said
    expect_places(tmp_path / "run.h5", y=[*Y, -1.125, -0.875, -0.625])


BOX = """<mesh name="box" type="rectilinear" coordinates="x_node,y_node"/>
<layout name="xn" type="double" dimensions="5" global="5" names="x_node"/><layout name="yn" type="float" dimensions="4" names="y_node"/>
<layout name="cells" type="double" dimensions="3,4" global="3,4" names="y,x"/>
<variable name="rho" layout="cells" mesh="box" unit="kg m-3" description="density"/>
<variable name="x_node" layout="xn" unit="degrees_east" standard-name="longitude" time-varying="false"/>
<variable name="y_node" layout="yn" unit="m" description="heights" time-varying="false"/>"""


def test_cells_between_nodes_are_the_same_in_scripts_and_files(tmp_path):
    put(tmp_path, "look", """
        import json, leat
        @leat.on_iteration(variables=["rho"], arrays="xarray")
        def process(ds, ctx):
            print("SEEN", json.dumps([ds.x.values.tolist(), ds.y.values.tolist(), ds.x_bnds.values.tolist(), ds.x.attrs["units"]]))
        """)
    x, y = data(5, "f8", 3), data(4, "f4", 5).astype("f8")
    assert np.isfinite([*x, *y]).all()
    with script_run(tmp_path, config(BOX)) as run:
        rank = run.ranks[0]
        for number in range(2):
            if number == 0:
                assert rank.write("x_node", 40, 3).ok and rank.write("y_node", 16, 5).ok
            assert rank.write("rho", BYTES, number).ok
            rank.end()
    wanted = [((a[:-1] + a[1:]) / 2).tolist() for a in (x, y)]
    bounds = np.stack([x[:-1], x[1:]], 1).tolist()
    assert [json.loads(line.partition("SEEN ")[2]) for line in run.log().splitlines() if "SEEN " in line] == \
        [[*wanted, bounds, "degrees_east"]] * 2
    with h5py.File(tmp_path / "run.h5") as file:
        assert [file[name][()].tolist() for name in ("x", "y", "x_bnds")] == [*wanted, bounds]
    with leat.open(tmp_path / "run.h5") as stored:
        assert stored["rho"].x.values.tolist() == wanted[0] and stored[1].dataset().x_bnds.values.tolist() == bounds


def test_what_says_where_a_mesh_lies_cannot_be_steered(tmp_path):
    with Run(tmp_path, xml(WHOLE)) as run:
        run.init()
        write(run, [0])
        said = subprocess.run([BUILD / "bin/leat", "ctl", run.session, "set", "lx=4"], env=run.environment, capture_output=True, text=True)
        run.finish()
    assert said.returncode == 1 and 'parameter "lx" says where mesh "plate" lies: only the simulation sets it' in said.stderr, said

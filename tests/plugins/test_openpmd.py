# SPDX-License-Identifier: Apache-2.0
"""`leat openpmd`: a file of virtual datasets, judged by openPMD-api and openPMD-viewer, whose values are compared with what ranks wrote."""
import json
import random
import re

import h5py
import numpy as np
import pytest
from leat_plugin import Plugin, array, mesh, variable
from leat_run import same_bits
from neighbours import ask, leat
from nodes import Nodes

GLOBAL = {"global": 1}
MESHES = [mesh("box", "uniform", 2, origin=[1., 2.], spacing=[.5, .25], unit="mm"),
          mesh("atoms", "points", 3, coordinates=[5], unit="nm"), mesh("dust", "points", 2, coordinates=[8, 9])]
VARIABLES = [variable("t", "f8", ["y", "x"], **GLOBAL, mesh=0, unit="K"),
             variable("flow/u_x", "f4", ["y", "x"], **GLOBAL, mesh=0, unit="km/h"),
             variable("flow/u_y", "f4", ["y", "x"], **GLOBAL, mesh=0, unit="km/h"),
             variable("p", "f8", ["y", "x"], **GLOBAL, mesh=0, nodal=1, unit="degC"),
             variable("k", "i4", ["y", "x"], **GLOBAL, mesh=0, time_varying=0),
             variable("atoms/x", "f8", ["?atom", "xyz"]), variable("atoms/type", "i4", ["?atom"], mesh=1),
             variable("atoms/v", "f8", ["?atom", "xyz"], mesh=1, unit="m/s"),
             variable("dx", "f8", ["n"], mesh=2), variable("dy", "f8", ["n"], mesh=2), variable("loose", "f8", ["i"], **GLOBAL)]
TILES = [(0, 0), (0, 25), (20, 0), (20, 25)]


def blocks_of(plugin, step, rank, ranks):
    """t and u in tiles, or of one rank as a whole; atoms of another number in each."""
    tile = ([0, 0], (40, 50)) if ranks == 1 else (list(TILES[rank]), (20, 25))
    place, shape = {"position": tile[0], "global": [40, 50]}, tile[1]
    seed, atoms = 1000 * step + 10 * rank, 3 + step + rank
    blocks = [plugin.block(0, shape, seed, rank=rank, **place)]
    blocks += [plugin.block(i, shape, seed + i, rank=rank, **place) for i in (1, 2) if step != 1]
    if rank == 0:
        blocks += [plugin.block(3, (41, 51), seed + 3, rank=rank, position=[0, 0], **{"global": [41, 51]})]
        blocks += [plugin.block(4, (40, 50), 4, rank=rank, position=[0, 0], **{"global": [40, 50]})] * (step == 0)
    blocks += [plugin.block(5, (atoms, 3), seed + 5, rank=rank), plugin.block(6, (atoms,), seed + 6, rank=rank)]
    blocks += [plugin.block(7, (atoms, 3), seed + 7, rank=rank)] * (step != 2)
    blocks += [plugin.block(i, (4,), seed + i, rank=rank) for i in (8, 9)]
    if rank == 0:
        blocks += [plugin.block(10, (2,), 7, rank=rank, position=[0], **{"global": [2]})]
    return blocks


def expected(steps, ranks):
    """{name: array} as openPMD-api calls them."""
    made = {}
    for step in range(steps):
        at = f"{10 * step}/"
        seeds = [(1000 * step + 10 * rank, 3 + step + rank) for rank in range(ranks)]
        for name, number, dtype in (("t", 0, "f8"), ("flow_u/x", 1, "f4"), ("flow_u/y", 2, "f4")):
            if number and step == 1:
                continue
            if ranks == 1:
                made[f"{at}meshes/{name}"] = array((40, 50), dtype, seeds[0][0] + number)
                continue
            tiles = [array((20, 25), dtype, seed + number) for seed, _ in seeds]
            made[f"{at}meshes/{name}"] = np.block([tiles[:2], tiles[2:]])
        made[f"{at}meshes/p"] = array((41, 51), "f8", seeds[0][0] + 3)
        made[f"{at}meshes/k"] = array((40, 50), "i4", 4)
        places = np.concatenate([array((n, 3), "f8", seed + 5) for seed, n in seeds])
        speeds = np.concatenate([array((n, 3), "f8", seed + 7) for seed, n in seeds])
        made[f"{at}atoms/type"] = np.concatenate([array((n,), "i4", seed + 6) for seed, n in seeds])
        for i, axis in enumerate("xyz"):
            made[f"{at}atoms/position/{axis}"], made[f"{at}atoms/positionOffset/{axis}"] = places[:, i], np.zeros(len(places))
            if step != 2:
                made[f"{at}atoms/v/{axis}"] = speeds[:, i]
        for axis, number in (("x", 8), ("y", 9)):
            made[f"{at}dust/position/{axis}"] = np.concatenate([array((4,), "f8", seed + number) for seed, _ in seeds])
            made[f"{at}dust/positionOffset/{axis}"] = np.zeros(4 * ranks)
    return made


def write(folder, ranks, steps=4, options=None, finish=True):
    folder.mkdir(exist_ok=True)
    more = {"meshes": MESHES, "time_parameter": 0, "time_unit": "min", "options": options or {}}
    plugin = Plugin(folder, VARIABLES, **more) if ranks == 1 else Nodes(folder, VARIABLES, [[0, 2], [1, 3]], **more)
    for step in range(steps):
        blocks = [block for rank in range(ranks) for block in blocks_of(plugin, step, rank, ranks)]
        plugin.must(10 * step, *sorted(blocks, key=lambda b: (b["variable"], b["rank"])), parameters={"time": 1.5 * step})
    if finish:
        plugin.finish()
    return plugin


def seen(folder, reader="api", name="run.openpmd.h5"):
    about = ask("openpmd_read.py", reader, name, f"{reader}.npz", cwd=folder)
    return dict(np.load(folder / f"{reader}.npz")), about


def expect(found, wanted):
    assert sorted(found) == sorted(wanted)
    for name in wanted:
        assert same_bits(found[name], wanted[name]), name


@pytest.mark.parametrize("ranks, options", [(1, {}), (4, {}), (1, {"compression": "deflate:2"}), (1, {"split": "2"})])
def test_openpmd_api_has_all_values(tmp_path, ranks, options):
    write(tmp_path, ranks, options=options)
    done = leat("openpmd", tmp_path / "run.h5")
    assert done.returncode == 0 and not done.stderr, done
    assert done.stdout.splitlines() == [f"{tmp_path}/run.openpmd.h5: 4 iterations",
                                        '  without the unit "degC", which UDUNITS does not know as so many times one of the SI',
                                        '  without the variable "loose": it is neither on a uniform mesh nor of particles']
    found, about = seen(tmp_path)
    expect(found, expected(4, ranks))
    with h5py.File(tmp_path / "run.openpmd.h5") as file:  # no second copy
        datasets = []
        file.visititems(lambda _, thing: datasets.append(thing) if isinstance(thing, h5py.Dataset) else None)
        assert len(datasets) > 30 and all(each.is_virtual for each in datasets)
    assert about["20"] == {"time": 3.0, "dt": .15, "unit": 60.0}
    assert about["20/t"] == {"labels": ["y", "x"], "spacing": [.25, .5], "offset": [2.0, 1.0], "unit": 1e-3,
                             "geometry": "Geometry.cartesian", "dimension": [0, 0, 0, 0, 1, 0, 0], "order": about["20/t"]["order"]}
    assert about["20/meshes/t"] == {"position": [.5, .5], "unit": 1.0} and about["0/meshes/p"] == {"position": [0, 0], "unit": 1.0}
    assert about["20/flow_u"]["dimension"] == [1, 0, -1, 0, 0, 0, 0] and about["20/meshes/flow_u/y"]["unit"] == pytest.approx(1 / 3.6)
    assert about["20/atoms/position"]["dimension"] == [1, 0, 0, 0, 0, 0, 0] and about["20/atoms/position/z:"]["unit"] == pytest.approx(1e-9)
    assert about["0/atoms/v"]["dimension"] == [1, 0, -1, 0, 0, 0, 0] and "20/atoms/v" not in about


@pytest.mark.parametrize("ranks", [1, 4])
def test_openpmd_viewer_has_all_values(tmp_path, ranks):
    write(tmp_path, ranks, steps=1)
    assert leat("openpmd", tmp_path / "run.h5").returncode == 0
    found, about = seen(tmp_path, "viewer")
    wanted = {name.replace("position/", ""): values for name, values in expected(1, ranks).items() if "positionOffset" not in name}
    assert sorted(found) == sorted(wanted)
    for name, values in wanted.items():
        unit = 1 / 3.6 if "flow_u" in name else 1e-9 if re.search("/atoms/[xyz]$", name) else 1
        if unit == 1 and values.dtype == found[name].dtype and "dust" not in name:
            assert same_bits(found[name], values), name
        with np.errstate(all="ignore"):
            assert np.allclose(found[name], values.astype("f8") * unit, rtol=1e-6, equal_nan=True), name
    assert (about["times"], sorted(about["fields"]), sorted(about["species"])) == ([0.0], ["flow_u", "k", "p", "t"], ["atoms", "dust"])
    assert np.allclose(about["0/meshes/t"]["x"], [1.25e-3, 25.75e-3]) and np.allclose(about["0/meshes/p"]["y"], [2e-3, 12e-3])


def test_what_the_file_calls_a_vector_is_one(tmp_path):
    fields = [variable(name, "f8", ["y", "x"], **GLOBAL, mesh=0) for name in ("ux", "uy", "w_x", "w_z")]
    plugin = Plugin(tmp_path, fields, meshes=MESHES[:1])
    plugin.must(0, *(plugin.block(i, (4, 5), i, position=[0, 0], **{"global": [4, 5]}) for i in range(4)))
    plugin.finish()
    with h5py.File(tmp_path / "run.h5", "a") as file:  # as <vector name="flow/u" components="ux,uy"/> does
        for i, name in enumerate(("ux", "uy")):
            file[name].attrs["leat_vector"] = np.bytes_(f"flow/u[{i}]")
    assert leat("openpmd", tmp_path / "run.h5").returncode == 0
    names = ("flow_u/x", "flow_u/y", "w_x", "w_z")
    expect(seen(tmp_path)[0], {f"0/meshes/{name}": array((4, 5), "f8", i) for i, name in enumerate(names)})


def test_iterations_come_as_they_are_stored(tmp_path):
    plugin = write(tmp_path, 1, steps=2, finish=False)
    assert leat("openpmd", tmp_path / "run.h5").returncode == 0
    for step in range(2, 4):
        plugin.must(10 * step, *blocks_of(plugin, step, 0, 1), parameters={"time": 1.5 * step})
    expect(seen(tmp_path)[0], expected(2, 1))
    assert json.loads(leat("openpmd", tmp_path / "run.h5", "--json").stdout)["iterations"] == 4
    plugin.kill()
    expect(seen(tmp_path)[0], expected(4, 1))


def test_files_may_be_moved_together_and_the_file_may_be_elsewhere(tmp_path):
    write(tmp_path / "there", 4)
    assert leat("openpmd", tmp_path / "there/run.h5").returncode == 0
    (tmp_path / "there").rename(tmp_path / "here")
    expect(seen(tmp_path / "here")[0], expected(4, 4))
    (tmp_path / "other").mkdir()
    assert leat("openpmd", "run.h5", "-o", tmp_path / "other/100%.h5", cwd=tmp_path / "here").returncode == 0
    expect(seen(tmp_path / "other", name="100%.h5")[0], expected(4, 4))
    (tmp_path / "here/run.parts/s1/rank000001.h5").unlink()
    done = leat("openpmd", tmp_path / "here/run.h5")
    assert done.returncode == 1 and "rank000001.h5 cannot be read" in done.stderr


def test_what_is_no_run_and_what_is_there_are_said(tmp_path):
    write(tmp_path, 1)
    (tmp_path / "run.openpmd.h5").write_text("theirs")
    done = leat("openpmd", tmp_path / "run.h5")
    assert done.returncode == 1 and "run.openpmd.h5 is there, and is not what this command has made of run.h5" in done.stderr
    assert (tmp_path / "run.openpmd.h5").read_text() == "theirs"
    for name, why in (("none.h5", "cannot read"), ("run.openpmd.h5", "is no HDF5 file"), (".", "is a folder, and no file")):
        done = leat("openpmd", tmp_path / name)
        assert done.returncode == 1 and why in done.stderr and done.stderr.startswith("leat openpmd: "), done
    done = leat("openpmd", tmp_path / "run.h5", "-o", tmp_path / "nowhere/run.h5")
    assert done.returncode == 1 and "could not be made" in done.stderr and not list(tmp_path.glob(".run.openpmd*"))
    assert leat("openpmd", tmp_path / "run.h5", "-o", tmp_path / "run.h5").returncode == 1
    only = Plugin(tmp_path, VARIABLES[10:], options={"file": "only.h5"})
    only.must(0, only.block(0, (2,), 1, position=[0], **{"global": [2]}))
    only.finish()
    done = leat("openpmd", tmp_path / "only.h5")
    assert done.returncode == 1 and 'only.h5 has nothing that openPMD can show\n  without the variable "loose"' in done.stderr
    assert leat("openpmd").returncode == 2


@pytest.mark.parametrize("bytes_", [1, 5, 40])
def test_a_damaged_file_is_no_crash_of_the_command(tmp_path, bytes_):
    write(tmp_path, 1, steps=2)
    undamaged, dice = np.frombuffer((tmp_path / "run.h5").read_bytes(), "u1"), random.Random(bytes_)
    for _ in range(4):
        damaged = undamaged.copy()
        for _ in range(bytes_):
            damaged[dice.randrange(len(damaged))] = dice.randrange(256)
        (tmp_path / "run.h5").write_bytes(damaged.tobytes())
        done = leat("openpmd", tmp_path / "run.h5")
        assert done.returncode in (0, 1) and "Traceback" not in done.stderr, done.stderr
        assert (done.returncode == 1) == any(line.startswith("leat openpmd: ") for line in done.stderr.splitlines()), done

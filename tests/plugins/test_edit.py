# SPDX-License-Identifier: Apache-2.0
"""Other people's tools change a file that is finished: attributes, names and variables (NCO, netCDF4)."""
import shutil
import subprocess

import h5py
import netCDF4
import numpy as np
import pytest
from leat_plugin import Plugin, array, mesh, variable
from leat_run import same_bits
from nodes import Nodes, leat

VARIABLES = [variable("air", "f8", ["y", "x"], unit="K", description="near the ground", mesh=0, **{"global": 1}),
             variable("atoms", "f8", ["?atom", "xyz"], unit="m", description="places"),
             variable("fields/inner", "f4", ["y", "x"], unit="Pa", description="in a group", **{"global": 1})]
RUN = {"meshes": [mesh("plate", "uniform", 2, origin=[0., 0.], spacing=[1., 1.], unit="m")], "time_parameter": 0,
       "time_unit": "days since 2000-01-01", "calendar": "noleap", "ledger": '{\n  "lost": 0\n}\n'}
KINDS = ["finished", "recovered", "view", "merged"]


def write(run, ranks):
    for i in range(3):
        run.must(i, *[run.block(v, (2, 3), 10 * i + rank + v, rank=rank, position=[2 * rank, 0], **{"global": (2 * ranks, 3)})
                      if v != 1 else run.block(1, (i + rank, 3), 10 * i + rank, rank=rank)
                      for v in range(3) for rank in range(ranks)], parameters={"a": 0.5 * i, "n": i, "s": "word"})


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """{kind: file}"""
    folder = tmp_path_factory.mktemp("edit")
    for kind in ("finished", "recovered"):
        (folder / kind).mkdir()
        plugin = Plugin(folder / kind, VARIABLES, ranks=2, **RUN)
        write(plugin, 2)
        plugin.finish() if kind == "finished" else plugin.kill()
    done = leat("recover", folder / "recovered/run.h5")
    assert done.returncode == 0, done.stderr
    nodes = Nodes(folder / "nodes", VARIABLES, [[0], [1]], **RUN)
    write(nodes, 2)
    nodes.finish()
    done = leat("merge", folder / "nodes/run.h5", folder / "merged.h5")
    assert done.returncode == 0, done.stderr
    return {"finished": folder / "finished/run.h5", "recovered": folder / "recovered/run.h5", "view": folder / "nodes/run.h5",
            "merged": folder / "merged.h5"}


@pytest.fixture(params=KINDS)
def path(request, files):
    """One that may be changed; a view keeps to the folder of its parts."""
    own = files[request.param]
    yield shutil.copy(own, own.with_name("changed.h5"))
    own.with_name("changed.h5").unlink()


def run(*words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "" and "WARNING" not in done.stdout, done
    return done.stdout


def expect_data(path, name="air"):
    with h5py.File(path) as file:
        for i in range(3):
            assert same_bits(file[name][i], np.concatenate([array((2, 3), "f8", 10 * i + rank) for rank in range(2)]))


def texts_of(path):
    """{variable@attribute: type} of all texts."""
    found = {}
    with h5py.File(path) as file:
        def note(name, thing):
            for attribute in thing.attrs:
                kind = h5py.h5a.open(thing.id, attribute.encode()).get_type()
                if isinstance(kind, h5py.h5t.TypeStringID):
                    found[f"{name}@{attribute}"] = "variable" if kind.is_variable_str() else "fixed"
        file.visititems(note)
        for name in ("/", "air", "fields/inner"):  # visititems() has one name of each, which may be that of /VTKHDF
            note(name.strip("/"), file[name])
    return found


def test_texts_are_of_fixed_length(path):
    texts = texts_of(path)  # DIMENSION_LABELS is HDF5's own, and no attribute for netCDF
    assert {"@Conventions", "@history", "@session", "air@units", "air@coordinates", "fields/inner@long_name"} <= set(texts)
    assert not {name for name, kind in texts.items() if kind != "fixed" and "DIMENSION_LABELS" not in name}


def test_netcdf4_adds_changes_and_removes_attributes_and_adds_a_variable(path):
    with netCDF4.Dataset(path, "a") as file:
        file.institution = "an institute"
        file["air"].units = "degC, longer than before"
        file["air"].delncattr("long_name")
        file["fields/inner"].comment = "added"
        for i in range(12):  # more than the eight that HDF5 has in an object by itself
            file["air"].setncattr(f"note{i}", i)
        file.createVariable("more", "f8", ("y", "x"))[:] = 5
    with netCDF4.Dataset(path) as file:
        assert file.institution == "an institute" and file["air"].units == "degC, longer than before"
        assert "long_name" not in file["air"].ncattrs() and file["air"].note11 == 11
        assert file["fields/inner"].comment == "added" and (file["more"][:] == 5).all()
    expect_data(path)


def test_ncatted_and_ncrename_change_names(path):
    run("ncatted", "-O", "-a", "units,/air,m,c,degC or so", "-a", "long_name,/air,d,,", "-a", "institution,global,c,c,here", path)
    run("ncrename", "-O", "-v", "/atoms,particles", "-d", "xyz,direction", path)
    run("ncrename", "-O", "-v", "/air,tas", path)
    with netCDF4.Dataset(path) as file:
        assert file["tas"].units == "degC or so" and "long_name" not in file["tas"].ncattrs() and file.institution == "here"
        assert file["particles"].dimensions[-1] == "direction" and "air" not in file.variables
    expect_data(path, "tas")


def test_a_text_that_is_too_long_for_an_attribute_is_kept_whole(tmp_path):
    text = "x" * 70_000
    plugin = Plugin(tmp_path, [variable("a", "f8", ["x"], description=text)])
    plugin.must(0, plugin.block(0, (3,), 1))
    plugin.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["a"].attrs["long_name"] == text

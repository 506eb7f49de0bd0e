# SPDX-License-Identifier: Apache-2.0
"""Values on the faces of cells: where files and scripts say that they lie."""
import json
import subprocess

import numpy as np
import pytest
import xarray as xr
from leat_run import BUILD
from script_run import config, put, script_run

MESH = '<mesh name="plate" type="uniform" origin="1,0" spacing="0.5,0.25" unit="m"/>'
STAGGERED = ('<parameter name="nx" type="int" value="{nx}"/><parameter name="ny" type="int" value="{ny}"/>' + MESH +
             '<layout name="cells" type="double" dimensions="ny,nx" global="ny,nx" names="y,x"/>'
             '<layout name="x_faces" type="double" dimensions="ny,nx+1" global="ny,nx+1" names="y,x_face"/>'
             '<layout name="y_faces" type="double" dimensions="ny+1,nx" global="ny+1,nx" names="y_face,x"/>'
             '<layout name="corners" type="double" dimensions="ny+1,nx+1" global="ny+1,nx+1" names="y_face,x_face"/>'
             '{variables}')
VARIABLES = {"T": ("cells", ""), "u": ("x_faces", ""), "v": ("y_faces", ""), "v_nodal": ("y_faces", 'centering="nodal"'),
             "c": ("corners", 'centering="nodal"'), "zonal_corners": ("corners", "")}
SHAPES = {"cells": (3, 4), "x_faces": (3, 5), "y_faces": (4, 4), "corners": (4, 5)}
X, Y = [1.25, 1.75, 2.25, 2.75], [0.125, 0.375, 0.625]
X_FACE, Y_FACE = [1, 1.5, 2, 2.5, 3], [0, 0.25, 0.5, 0.75]
PLACES = {"cells": {"y": Y, "x": X}, "x_faces": {"y": Y, "x_face": X_FACE}, "y_faces": {"y_face": Y_FACE, "x": X},
          "corners": {"y_face": Y_FACE, "x_face": X_FACE}}


def text(names, nx=4, ny=3):
    variables = "".join(f'<variable name="{name}" layout="{VARIABLES[name][0]}" mesh="plate" {VARIABLES[name][1]}/>' for name in names)
    return STAGGERED.format(nx=nx, ny=ny, variables=variables)


@pytest.mark.parametrize("names", [["T", "u", "v"], ["u", "v"], ["v_nodal", "T", "u"], ["c", "T"], ["zonal_corners", "u", "T"],
                                   ["c", "u", "v"], ["c"]], ids="-".join)
@pytest.mark.parametrize("sizes", ["of_the_xml", "set", "without_a_value"])
def test_faces_lie_at_nodes_and_centres_between_them_along_each_dimension(tmp_path, names, sizes):
    put(tmp_path, "look", f"""
        import json
        def process(ds, ctx):
            print("SEEN", json.dumps({{name: {{d: ds[name][d].values.tolist() for d in ds[name].dims}} for name in {names}}}))
        """)
    given = {} if sizes == "of_the_xml" else {"nx": 1, "ny": 1}
    of_the_run = config(text(names, **given))
    if sizes == "without_a_value":
        of_the_run = of_the_run.replace(' value="1"', "")
    with script_run(tmp_path, of_the_run) as run:
        rank = run.ranks[0]
        for name, value in {"nx": 4, "ny": 3}.items() if given else ():
            rank.must("set_int", name, value)
        for name in names:
            rank.must("write", name, 0, 8 * int(np.prod(SHAPES[VARIABLES[name][0]])), 1)
        rank.end()
    seen = [line.partition("SEEN ")[2] for line in run.log().splitlines() if "SEEN " in line]
    wanted = {name: PLACES[VARIABLES[name][0]] for name in names}
    assert [json.loads(line) for line in seen] == [wanted], run.log()
    with xr.open_dataset(tmp_path / "run.h5", engine="h5netcdf") as ds:
        assert {name: {d: ds[name][d].values.tolist() for d in ds[name].dims[1:]} for name in names} == wanted
    assert "is not known" not in run.log(), run.log()


def test_a_size_that_is_neither_has_no_coordinate_and_is_said(tmp_path):
    data = text(["T"]).replace("<variable", '<layout name="other" type="double" dimensions="3,7" global="3,7" names="y,x_other"/>'
                               '<variable name="w" layout="other" mesh="plate"/><variable', 1)
    put(tmp_path, "look", 'def process(ds, ctx):\n    print("SEEN", sorted(ds.coords))\n')
    with script_run(tmp_path, config(data)) as run:
        run.ranks[0].must("write", "T", 0, 8 * 12, 1)
        run.ranks[0].must("write", "w", 0, 8 * 21, 1)
        run.ranks[0].end()
    said = 'variable "w" has 7 values along "x_other", and its mesh "plate" has 4 cells there, as "T" says: 4 values lie at the'
    checked = subprocess.run([BUILD / "bin/leat", "check", run.config], cwd=tmp_path, capture_output=True, text=True)
    assert checked.returncode == 0 and said in " ".join(checked.stderr.split()), checked.stderr
    assert said in run.log() and "SEEN ['iteration', 'x', 'x_bnds', 'y', 'y_bnds']" in run.log(), run.log()
    with xr.open_dataset(tmp_path / "run.h5", engine="h5netcdf") as ds:
        assert set(ds.coords) == {"iteration", "x", "y"} and ds.w.dims == ("iteration", "y", "x_other")


@pytest.mark.parametrize("width", [5, 6])
@pytest.mark.parametrize("value", ['value="1"', ""])
def test_of_sizes_that_have_nothing_to_do_with_each_other_those_of_the_run_count(tmp_path, width, value):
    """Only what is set shows where values lie, or that they have no place."""
    data = (f'<parameter name="n" type="int" {value}/><parameter name="m" type="int" {value}/>' + MESH +
            '<layout name="cells" type="double" dimensions="3,n" global="3,n" names="y,x"/>'
            '<layout name="others" type="double" dimensions="3,m" global="3,m" names="y,x_other"/>'
            '<variable name="u" layout="others" mesh="plate"/><variable name="T" layout="cells" mesh="plate"/>')
    put(tmp_path, "look", "def process(ds, ctx):\n    pass\n")
    with script_run(tmp_path, config(data)) as run:
        run.ranks[0].must("set_int", "n", 4)
        run.ranks[0].must("set_int", "m", width)
        run.ranks[0].must("write", "T", 0, 8 * 12, 1)
        run.ranks[0].must("write", "u", 0, 8 * 3 * width, 1)
        run.ranks[0].end()
    said = 'variable "u" has 6 values along "x_other", and its mesh "plate" has 4 cells there, as "T" says'
    assert (said in run.log()) == (width == 6), run.log()
    with xr.open_dataset(tmp_path / "run.h5", engine="h5netcdf") as ds:
        assert ds.x.values.tolist() == X and ds.u.shape == (1, 3, width)
        assert ("x_other" in ds.coords) == (width == 5) and (width == 6 or ds.x_other.values.tolist() == X_FACE)

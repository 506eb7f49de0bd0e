# SPDX-License-Identifier: Apache-2.0
"""<variable type="..." dimensions="...">: variables that say their shape themselves are as those that name a <layout>."""
import json
import pathlib
import re
import subprocess

import h5py
import numpy as np
import xarray
from arrays_run import write_arrays
from leat_run import BUILD, Run, data, same_bits, xml

SHAPE = 'type="double" dimensions="7,nx+2" global="5,8" position="0,i0" ghosts="1:1,1" names="y,x"'
PARAMETERS = '<parameter name="nx,i0" type="int"/>'


def check(folder, text):
    (folder / "run.xml").write_text(text)
    done = subprocess.run([BUILD / "bin/leat", "check", "run.xml", "--json"], cwd=folder, capture_output=True, text=True, timeout=60,
                          check=False)
    return json.loads(done.stdout)


def test_files_are_those_of_a_layout(tmp_path):
    rng = np.random.default_rng(3)
    whole = {name: rng.normal(size=(2, 7, 10)) for name in ("u", "v", "fields/w")}
    ranks = []
    for rank in range(4):
        arrays = {("=nx", 0): np.array(2), ("=i0", 0): np.array(2 * rank)}
        for name, values in whole.items():
            arrays.update({(name, i): values[i][:, 2 * rank:2 * rank + 4] for i in range(2)})
        arrays["n", 0] = arrays["n", 1] = np.array(rank, "i4")
        ranks.append(arrays)
    texts = {"own": f"""{PARAMETERS}<layout name="other" type="float" dimensions="3"/><variable name="u,v" {SHAPE}/>
               <group name="fields" layout="other"><variable name="w" {SHAPE}/></group><variable name="n" type="int" dimensions=""/>""",
             "named": f"""{PARAMETERS}<layout name="cells" {SHAPE}/><layout name="number" type="int" dimensions=""/>
               <variable name="u,v" layout="cells"/>
               <group name="fields" layout="cells"><variable name="w"/></group><variable name="n" layout="number"/>"""}
    for kind, text in texts.items():
        (tmp_path / kind).mkdir()
        write_arrays(tmp_path / kind, xml(text), ranks)
    with h5py.File(tmp_path / "own/run.h5") as own, h5py.File(tmp_path / "named/run.h5") as named:
        for name, values in whole.items():
            assert same_bits(own[name][:], np.ascontiguousarray(values[:, 1:6, 1:9]))
        for name in (*whole, "n"):
            assert same_bits(own[name][:], named[name][:]) and own[name].dtype == named[name].dtype
            assert [d.label for d in own[name].dims] == [d.label for d in named[name].dims]


def test_a_message_of_the_run_says_which_variable_and_where(tmp_path):
    made = xml('<parameter name="n" type="int"/><group name="a"><variable name="u,v" type="double" dimensions="n"/></group>')
    with Run(tmp_path, made, ranks=1) as run:
        (rank,) = run.init()
        said = rank.write("a/v", 8, 1).error
        assert 'layout "a_u" (' in said and "run.xml:" in said and 'needs parameter "n"' in said
        rank.must("set_int", "n", 4)
        assert rank.write("a/v", 32, 1).ok
        rank.end()
        run.finalize()
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(file["a/v"][0].reshape(-1), data(4, "f8", 1))


def test_variables_that_say_the_same_are_made_of_each_other_and_lie_on_meshes(tmp_path):
    text = xml("""<mesh name="box" type="uniform" origin="0,0" spacing="1,1"/>
      <variable name="u" mesh="box" type="double" dimensions="2,3" global="2,3"/>
      <variable name="v" mesh="box" type="double" dimensions="2,3" global="2,3"/><variable name="sum" expr="u + v"/>""")
    u, v = np.arange(6.).reshape(2, 3), np.ones((2, 3))
    write_arrays(tmp_path, text, [{("u", 0): u, ("v", 0): v}])
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(file["sum"][0], u + v) and file["u"].dims[1].label == file["v"].dims[1].label


PAGE = (pathlib.Path(__file__).parents[2] / "docs/how-to/meshes.md").read_text()
(STAGGERED,) = re.findall(r"```xml\n((?:(?!```).)*names=\"x; x_face\".*?)```", PAGE, re.S)


def test_variables_of_a_staggered_grid_share_a_line_as_the_page_has_it(tmp_path):
    rng = np.random.default_rng(7)
    arrays = {("=nx", 0): np.array(4), ("=ny", 0): np.array(3)}
    sizes = {"x": (4,), "x_face": (4,), "y": (3,), "y_face": (3,), "u": (3, 4), "v": (3, 4), "p": (3, 4)}
    arrays.update({(name, 0): np.cumsum(rng.uniform(size=size), axis=-1) for name, size in sizes.items()})
    write_arrays(tmp_path, xml('<parameter name="nx,ny" type="int"/>' + STAGGERED), [arrays])
    with h5py.File(tmp_path / "run.h5") as file:
        for name in sizes:
            assert same_bits(np.squeeze(file[name][:]), arrays[name, 0])
    with xarray.open_dataset(tmp_path / "run.h5", engine="h5netcdf") as ds:
        assert {name: ds[name].dims[1:] for name in "uvp"} == {"u": ("y", "x_face"), "v": ("y_face", "x"), "p": ("y", "x")}
        for name in ("x", "x_face", "y", "y_face"):
            assert name in ds.coords and same_bits(ds[name].values, arrays[name, 0])


def test_leat_check_knows_their_size_and_what_is_wrong(tmp_path):
    text = xml('<variable name="u" type="float" dimensions="10,11"/>')
    assert [each["bytes_per_rank"] for each in check(tmp_path, text)["variables"]] == [440]
    (said,) = check(tmp_path, text.replace("10,11", "10,n"))["diagnostics"]
    assert said["message"].startswith('variable "u": dimensions, column 1 of "n": unknown parameter') and said["line"] > 0

# SPDX-License-Identifier: Apache-2.0
"""A run with an XML for Damaris: what ranks write is what h5py reads, and the same as with the converted one."""
import os
import pathlib
import re
import signal
import subprocess
import time

import h5py
import numpy as np
import pytest
from leat_run import BUILD, Run, data, same_bits
from nodes_run import NodesRun

LEAT = pathlib.Path(os.environ["LEAT_BUILD"]) / "bin" / "leat"
HEAD = """<?xml version="1.0"?>
<simulation name="run" language="{language}" xmlns="http://damaris.gforge.inria.fr/damaris/model">
  <architecture>
    <domains count="1"/>
    <dedicated cores="1" nodes="0"/>
    <placement />
    <buffer name="buffer" size="16777216" />
    <queue  name="queue" size="100" />
  </architecture>
  <data>
    <parameter name="W" type="int" value="8" />
    <parameter name="H" type="int" value="6" />
    <parameter name="size" type="int" value="1" comment="set by the simulation" />
    <parameter name="G" type="int" value="1" />
    {layout}
    <layout name="axis" type="float" dimensions="W" />
    <group name="coord">
      <variable name="x" layout="axis" time-varying="false" store="MyStore" unit="m" />
    </group>
    <variable name="1OVERBG" layout="cells" mesh="none_there" store="MyStore" unit="K" />
    <variable name="hidden" layout="axis" />
  </data>
  <storage>
    <store name="MyStore" type="HDF5" frequency="2">
      <option key="FileMode">Collective</option>
      <option key="FilesPath">out/</option>
    </store>
  </storage>
  <paraview><script>none.py</script></paraview>
  <log FileName="log/run" RotationSize="5" LogFormat="[%TimeStamp%]: %Message%" LogLevel="info" Flush="true" />
</simulation>
"""
LAYOUTS = {"c": '<layout name="cells" type="double" dimensions="W/size+2*G,H" global="W,H" ghosts="G:G,0:0" />',
           "fortran": '<layout name="cells" type="double" dimensions="H,W/size+2*G" global="H,W" ghosts="0,G:G" />'}


def stored(folder, text, ranks, environment=None):
    folder.mkdir()
    rows = 8 // ranks
    with Run(folder, text, ranks=ranks, environment=environment) as run:
        for rank in run.init():
            rank.must("set_int", "size", ranks)
            rank.must("set_position", "1OVERBG", 0, f"{rank.number * rows},0")
            assert rank.write("coord/x", 8 * 4, 7).ok
        for iteration in range(3):
            for rank in run.ranks:
                assert rank.write("1OVERBG", (rows + 2) * 6 * 8, 100 * iteration + rank.number).ok
                assert rank.write("hidden", 8 * 4, 1).status in ("LEAT_OK", "LEAT_UNWANTED")
                rank.end()
        run.finish()
    assert (folder / "log" / "run.log").exists()
    found = {}
    assert sorted(os.listdir(folder / "out")) == ["run_It0.h5", "run_It2.h5"]
    for iteration in (0, 2):
        with h5py.File(folder / "out" / f"run_It{iteration}.h5") as file:
            assert "hidden" not in file and ("coord" in file) == (iteration == 0)
            assert file["1OVERBG"].attrs["units"] == b"K"
            found[iteration] = file["1OVERBG"][...]
            found["x"] = file["coord/x"][...] if iteration == 0 else found["x"]
    return found


@pytest.mark.parametrize("language", LAYOUTS)
@pytest.mark.parametrize("ranks", [1, 2])
def test_what_ranks_write_is_stored(tmp_path, ranks, language):
    text = HEAD.format(language=language, layout=LAYOUTS[language])
    found = stored(tmp_path / "damaris", text, ranks)
    rows = 8 // ranks
    for iteration in (0, 2):
        assert found[iteration].shape == (8, 6)
        for rank in range(ranks):
            block = data((rows + 2) * 6, "f8", 100 * iteration + rank).reshape(rows + 2, 6)
            assert same_bits(found[iteration][rank * rows:(rank + 1) * rows], block[1:-1])
    assert data(8, "f4", 7).tobytes() in found["x"].tobytes()
    (tmp_path / "damaris.xml").write_text(text)
    converted = subprocess.run([LEAT, "convert", tmp_path / "damaris.xml"], capture_output=True, text=True, timeout=60, check=True)
    assert "damaris.gforge" not in converted.stdout
    again = stored(tmp_path / "leat", converted.stdout, ranks, {"LEAT_PLACE": "process"})  # these ranks do not call leat_split
    assert all(np.asarray(found[name]).tobytes() == np.asarray(again[name]).tobytes() for name in found)


def test_what_opm_flow_writes_is_on_its_mesh(tmp_path):
    """The XML of OPM Flow, with sizes that the simulation sets and names that begin with a digit. In which order: tests/damaris_api."""
    text = (pathlib.Path(__file__).parent / "opm_flow.xml").read_text().replace(' select-file="CELL_INDEX"', "")
    with Run(tmp_path, text, ranks=1) as run:
        rank, = run.init()
        for parameter, value in {"n_elements_total": 2, "n_elements_local": 2, "n_coords_local": 12, "n_connectivity": 16,
                                 "n_types": 2}.items():
            rank.must("set_int", parameter, value)
        for iteration in range(2):
            for name, size in {"PRESSURE": 16, "1OVERBG": 16, "MPI_RANK": 8, "CELL_INDEX": 8}.items():
                rank.must("set_position", name, 0, "0")
                assert rank.write(name, size, iteration).status in ("LEAT_OK", "LEAT_UNWANTED"), name
            rank.end()
        run.finish()
    for iteration in range(2):
        with h5py.File(tmp_path / f"opm-flow-SPE1_It{iteration}.h5") as file:
            assert same_bits(file["PRESSURE"][...], data(2, "f8", iteration))
            assert "1OVERBG" not in file


@pytest.mark.parametrize("domains", [1, 2])
def test_files_per_core_are_called_as_damaris_calls_them(tmp_path, domains):
    """FilesPath stands in front of the name as it is."""
    text = HEAD.format(language="c", layout=LAYOUTS["c"]).replace("Collective", "FilePerCore").replace(">out/<", ">out/my_<")
    with Run(tmp_path, text.replace('domains count="1"', f'domains count="{domains}"'), ranks=2) as run:
        for rank in run.init():
            rank.must("set_int", "size", 2)
            for block in range(domains):
                rank.must("set_position", "1OVERBG", block, f"{rank.number * 4},0")
                assert rank.write("1OVERBG", 6 * 6 * 8, rank.number, block).ok
            rank.end()
        run.finish()
    assert os.listdir(tmp_path / "out") == ["my_run_It0_Pr0.h5"]
    with h5py.File(tmp_path / "out" / "my_run_It0_Pr0.h5") as file:
        for rank in range(2):
            for block in range(domains):
                stored = file[f"1OVERBG/P{rank}" + (f"/B{block}" if domains > 1 else "")]
                assert same_bits(stored[...], data(6 * 6, "f8", rank).reshape(6, 6)[1:-1])


CHANGING = HEAD.replace("{layout}", '<layout name="cells" type="double" dimensions="W/size" global="W" />')
SIZES = [12, 6, 24, 2, 12]


@pytest.mark.parametrize("killed", [False, True], ids=["undisturbed", "killed"])
def test_sizes_may_change_from_iteration_to_iteration(tmp_path, killed):
    """Also where blocks of older sizes still wait when the server is killed."""
    text = CHANGING.format(language="c").replace('frequency="2"', "")
    with Run(tmp_path, text, ranks=2) as run:
        for rank in run.init():
            rank.must("set_int", "size", 2)
            for step, size in enumerate(SIZES):
                rank.must("set_int", "W", size)
                rank.must("set_position", "1OVERBG", 0, f"{rank.number * size // 2}")
                assert rank.write("1OVERBG", size // 2 * 8, 10 * step + rank.number).ok
                rank.end()
            if killed and rank.number == 0:
                time.sleep(0.3)  # for what rank 0 has written to be taken: not stored, rank 1 has not ended it
                os.kill(run.server(), signal.SIGKILL)
        run.finish()
        assert ("has taken over" in (tmp_path / "log" / "run.log").read_text()) == killed
    for step, size in enumerate(SIZES):
        with h5py.File(tmp_path / "out" / f"run_It{step}.h5") as file:
            assert same_bits(file["1OVERBG"][...], np.concatenate([data(size // 2, "f8", 10 * step + rank) for rank in range(2)]))


def test_functions_of_events_are_called(tmp_path):
    library = pathlib.Path(os.environ["LEAT_BUILD"]) / "lib/leat/test/function.so"
    (tmp_path / "libnotes.so").symlink_to(library)
    text = HEAD.format(language="c", layout=LAYOUTS["c"]).replace("<log ", """<actions>
    <event name="one" action="note" library="libnotes.so"/>
    <event name="all" action="note_too" library="libnotes.so" scope="group"/>
    <event name="nothing" action="main"/>
  </actions>
  <log """)
    with Run(tmp_path, text, ranks=2) as run:
        for rank in run.init():
            for event in ("one", "all", "nothing"):
                rank.must("signal", event)
            rank.end()
        run.ranks[1].must("signal", "one")
        run.finish()
    assert (tmp_path / "noted.txt").read_text() == "one 0 0\none 1 0\none 1 1\n"
    assert (tmp_path / "noted_too.txt").read_text() == "all -1 0\n"
    checked = subprocess.run([LEAT, "check", "run.xml"], cwd=tmp_path, capture_output=True, text=True)
    assert 'event "nothing" has no library: Damaris looks for "main" in the program' in checked.stderr


@pytest.mark.parametrize("name", ["opm_flow", "vector", "storage_blocks", "pdi", "image"])
def test_step_6_of_the_page_gives_an_xml_that_runs(tmp_path, name):
    """For each FileMode, and with several domains, as public XMLs have them."""
    root = pathlib.Path(__file__).parents[2]
    (command,) = re.findall(r"^sed -E '(.*)' plate-leat.xml", (root / "docs/how-to/coming-from-damaris.md").read_text(), re.M)
    leat = BUILD / "bin/leat"
    converted = subprocess.run([leat, "convert", root / f"tests/damaris/{name}.xml"], capture_output=True, text=True, check=True).stdout
    own = subprocess.run(["sed", "-E", command], input=converted, capture_output=True, text=True, check=True).stdout
    assert own.count("<option") < converted.count("<option") or "<option" not in converted
    (tmp_path / "own.xml").write_text(own)
    for folder in re.findall(r'folder="([^"]+)"', own):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    checked = subprocess.run([leat, "check", "own.xml"], cwd=tmp_path, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    with Run(tmp_path, own, environment={"LEAT_PLACE": "process"}) as run:
        run.init()
        run.finish()


def test_a_collective_file_is_one_of_all_nodes(tmp_path):
    """It has all iterations, in each of which are the values that a file of one node has."""
    text = HEAD.format(language="c", layout=LAYOUTS["c"])
    expected = stored(tmp_path / "one", text, ranks=2)
    folder = tmp_path / "nodes"
    folder.mkdir()
    with NodesRun(folder, text, [[0], [1]]) as run:
        for rank in run.init():
            rank.must("set_int", "size", 2)
            rank.must("set_position", "1OVERBG", 0, f"{rank.number * 4},0")
            assert rank.write("coord/x", 8 * 4, 7).ok
        for iteration in range(3):
            for rank in run.ranks:
                assert rank.write("1OVERBG", 6 * 6 * 8, 100 * iteration + rank.number).ok
                rank.end()
        run.finish()
        assert sorted(os.listdir(folder / "out")) == ["run.h5", "run.parts"]
        assert [path.name for path in (folder / "out").glob("run.parts/*/*")] == ["shared000.h5"]
    with h5py.File(folder / "out" / "run.h5") as file:
        assert file["iteration"][:].tolist() == [0, 2] and file["1OVERBG"].attrs["units"] == b"K"
        for row, iteration in enumerate((0, 2)):
            assert same_bits(file["1OVERBG"][row], expected[iteration])

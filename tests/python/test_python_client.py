# SPDX-License-Identifier: Apache-2.0
"""The Python package, installed by pip into a virtual environment against an installed Leat."""
import doctest
import os
import re
import shutil

import h5py
import numpy as np
import pytest
import readers
import xarray as xr
from leat_run import BUILD, same_bits
from python_client import ROOT, installed, sh
from stored_blocks import stored_ranks
from varying_sizes import STATUSES, expect
from varying_sizes import XML as VARYING


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    return installed(tmp_path_factory.mktemp("python"))


def run(python, folder, code, **environment):
    (folder / "sim.py").write_text(code)
    return sh(python, "sim.py", cwd=folder, LEAT_RUNTIME_DIR=str(folder / "r"), **environment)


XML = """<simulation name="py"><architecture><buffer size="16MiB"/></architecture><data>
<parameter name="n" type="int"/><parameter name="dt" type="double"/><parameter name="title" type="string"/>
{layouts}
<layout name="grid" type="double" dimensions="n,3"/><variable name="grid" layout="grid"/><variable name="made" layout="grid"/>
<layout name="blocks" type="long" dimensions="8"/><variable name="blocks" layout="blocks"/>
</data><storage><store name="out" type="hdf5"/></storage></simulation>"""
TYPES = {"i1": "int8", "i2": "int16", "i4": "int", "i8": "long", "u1": "uint8", "u2": "uint16", "u4": "uint32", "u8": "uint64",
         "f4": "float", "f8": "double", "c8": "complex64", "c16": "complex128", "S1": "char"}
VIEWS = {"whole": "a", "strided": "a[::2, ::3]", "negative": "a[::-1, ::-1]", "transposed": "a.T", "fortran": "np.asfortranarray(a)",
         "empty": "a[:0]", "broadcast": "np.broadcast_to(a[:1], (4, 5))"}


@pytest.fixture(scope="module")
def stored(python, tmp_path_factory):
    folder = tmp_path_factory.mktemp("types")
    layouts = "".join(f'<layout name="{t}" type="{x}" dimensions="?,?"/>' + "".join(
        f'<variable name="{t}_{v}" layout="{t}"/>' for v in VIEWS) for t, x in TYPES.items())
    (folder / "py.xml").write_text(XML.format(layouts=layouts))
    run(python, folder, f"""
import threading, leat, numpy as np
leat.init("py.xml")
leat.set("n", 2); leat.set("dt", 0.5); leat.set("title", "text")
assert leat.get_int("n") == 2 and leat.get_double("n") == 2.0 and leat.get_double("dt") == 0.5
assert leat.get_string("title") == "text"
for t in {list(TYPES)!r}:
    a = np.arange(65, 65 + 24).astype("u1").view("S1").reshape(4, 6) if t == "S1" else np.arange(24).astype(t).reshape(4, 6)
    a = a[:, :5]
    for name, view in {VIEWS!r}.items():
        leat.write(t + "_" + name, eval(view))
leat.write("grid", [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
made = leat.alloc("made")
assert made.shape == (2, 3) and made.dtype == "f8" and leat.wanted("made")
made[:] = 7.5
leat.commit("made")
def many(block):
    for i in range(100):
        leat.write("blocks", np.full(8, block), block)
threads = [threading.Thread(target=many, args=(b,)) for b in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
assert leat.iteration() == 0
leat.end_iteration()
leat.finalize()
""")
    with h5py.File(folder / "py.h5") as file:
        yield {name: found[...] for name, found in file.items() if isinstance(found, h5py.Dataset)}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("view", VIEWS)
def test_every_type_and_view_arrives(stored, dtype, view):
    whole = np.arange(65, 65 + 24).astype("u1").view("S1") if dtype == "S1" else np.arange(24).astype(dtype)
    a = whole.reshape(4, 6)[:, :5]
    expected = eval(VIEWS[view], {"a": a, "np": np})
    assert same_bits(stored[f"{dtype}_{view}"], expected.ravel())
    assert stored[f"{dtype}_{view}_extent"].reshape(-1).tolist() == list(expected.shape)


def test_lists_allocated_memory_and_threads_arrive(stored):
    assert same_bits(stored["grid"][0], np.arange(1.0, 7.0).reshape(2, 3)) and (stored["made"] == 7.5).all()
    assert stored["blocks"][:, 0].tolist() == stored["blocks_block_number"].tolist() == [0, 1, 2, 3]


def test_a_code_that_goes_on_after_a_failed_init_is_told_at_its_end(python, tmp_path):
    said = run(python, tmp_path, """
import contextlib, leat, numpy as np
for call in [lambda: leat.init("py.xml")] + 3 * [lambda: leat.write("grid", np.ones(3))]:
    with contextlib.suppress(leat.Error):
        call()
""")
    first, last = said.splitlines()
    assert first.startswith("leat: leat_init: py.xml: ")
    assert last.startswith("leat: nothing of this run is stored: leat_init had failed, and 3 writes of this rank came")
    assert "py.xml: error: cannot read the file" in last


def test_errors_are_exceptions_with_status_and_message(python, tmp_path):
    (tmp_path / "py.xml").write_text(XML.format(layouts=""))
    said = run(python, tmp_path, """
import leat, numpy as np
def say(call):
    try: call()
    except leat.Error as e: print(e.status, e)
    except TypeError as e: print("TypeError", e)
say(lambda: leat.end_iteration())
leat.init("py.xml")
leat.set_int("n", 2)
say(lambda: leat.write("grid", np.zeros((2, 3), "f4")))
say(lambda: leat.write("grid", np.zeros((3, 3))))
say(lambda: leat.write("gird", np.zeros((2, 3))))
say(lambda: leat.write("grid", np.zeros((2, 3), ">f8")))
say(lambda: leat.write("grid", np.array(["a"])))
say(lambda: leat.get_int("dt"))
say(lambda: leat.get_double("dt"))
say(lambda: leat.get_string("titel"))
say(leat.finalize)
""")
    for part in ('LEAT_ERROR_STATE leat_end_iteration: called before leat_init', "got float32 (2, 3)",
                 'LEAT_ERROR_SHAPE leat_write: "grid" is declared double (grid_0=2, grid_1=3)', 'did you mean "grid"',
                 "TypeError leat.write: \"grid\": Leat does not store elements of type >f8", "LEAT_ERROR_LOST",
                 'LEAT_ERROR_TYPE leat_get_int: parameter "dt" is declared double in py.xml: use leat_get_double',
                 'LEAT_ERROR_STATE leat_get_double: parameter "dt" has no value yet',
                 'LEAT_ERROR_UNKNOWN_NAME leat_get_string: py.xml declares no parameter "titel"; did you mean "title"?'):
        assert part in said, said


def test_after_a_drain_python_is_told_by_whom(python, tmp_path):
    (tmp_path / "py.xml").write_text(XML.format(layouts=""))
    said = run(python, tmp_path, """
import os, leat, leat.control, numpy as np
def say(call):
    try: call()
    except leat.Error as e: print(e.status, str(e).replace(f"control/{os.getpid()}", "ME"))
leat.init("py.xml")
def write():
    leat.write("blocks", np.arange(8))
write(); leat.end_iteration()
with leat.control.connect("pydrain") as c:
    c.drain()
write()
say(leat.end_iteration)
say(write)
say(leat.finalize)
""", LEAT_SESSION="pydrain")
    order = "the run was drained by order of ME; what came after is not stored"
    assert f"LEAT_ERROR_SERVER leat_end_iteration: {order}" in said
    assert f'LEAT_ERROR_SERVER leat_write: "blocks" of iteration 2 is not stored: {order}' in said
    assert "LEAT_ERROR_LOST leat_finalize: 2 writes of this rank failed" in said and "died" not in said, said


def test_sizes_change_only_where_they_may(python, tmp_path):
    (tmp_path / "varying.xml").write_text(VARYING)
    said = run(python, tmp_path, """
import leat, numpy as np
def status(call, *words):
    try: call(*words)
    except leat.Error as e: print("status", e.status)
    else: print("status", 0)
leat.init("varying.xml")
for row, n in enumerate((4, 2, 6)):
    leat.set_int("n", n)
    leat.write("u", n + 0.1 * np.arange(n))
    if row == 0: leat.write("w", np.arange(3.0))
    if row == 1:
        status(leat.set_int, "m", 5)
        status(leat.write, "w", np.arange(3.0))
        status(leat.write, "w", np.arange(5.0))
        status(leat.set_int, "m", 3)
        status(leat.write, "w", np.arange(3.0) + 1)
    leat.end_iteration()
status(leat.finalize)
""")
    names = {0: "0", -2: "LEAT_ERROR_STATE", -6: "LEAT_ERROR_SHAPE", -14: "LEAT_ERROR_LOST"}
    assert re.findall(r"^status (\w+)$", said, re.M) == [names[status] for status in STATUSES], said
    expect(tmp_path)


def test_leat_off_does_nothing(python, tmp_path):
    run(python, tmp_path, """
import leat
leat.init("no such file"); leat.write("x", [1]); leat.end_iteration()
assert leat.alloc("x") is None
leat.commit("x"); leat.finalize()
assert leat.get_int("n") is None and leat.get_double("dt", 0.5) == 0.5 and leat.get_string("title", "mine") == "mine"
""", LEAT="off")
    assert [p.name for p in tmp_path.iterdir()] == ["sim.py"]


def test_a_place_with_another_number_of_entries_is_refused(python, tmp_path):
    (tmp_path / "py.xml").write_text(XML.format(layouts=""))
    run(python, tmp_path, '''
import leat
leat.init("py.xml")
for verb in (leat.set_position, leat.set_extent):
    for numbers in ([1], [1, 2, 3], range(20), []):
        try:
            verb("grid", numbers)
        except leat.Error as e:
            assert e.status == "LEAT_ERROR_ARGUMENT", e.status
            assert "has 2 dimensions (grid_0, grid_1)" in str(e) and str(len(numbers)) in str(e), e
        else:
            raise SystemExit(f"{numbers} was taken")
leat.finalize()
''')


def expect_other_tools(path, fields, folder):
    readers.expect_copies(path, folder)
    readers.expect_nco(path, folder)
    readers.expect_cdo(path, *fields)
    readers.expect_netcdf_java([path])


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_the_python_example_equals_the_c_example(python, tmp_path, ranks):
    shutil.copy(ROOT / "examples/heat_python/heat.xml", tmp_path)
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}
    environment = {"LEAT_RUNTIME_DIR": str(tmp_path / "r"), **as_root}
    mpirun = ["mpirun", "--oversubscribe", "-n", ranks]
    sh(*mpirun, python, ROOT / "examples/heat_python/heat.py", "heat.xml", 21, cwd=tmp_path, **environment)
    (tmp_path / "heat.h5").rename(tmp_path / "python.h5")
    sh(*mpirun, BUILD / "bin/heat", "heat.xml", 21, cwd=tmp_path, **environment)
    with h5py.File(tmp_path / "python.h5") as ours, h5py.File(tmp_path / "heat.h5") as theirs:
        assert same_bits(ours["temperature"][...], theirs["temperature"][...]) and len(ours["iteration"]) == 3
        assert same_bits(ours["time"][:], theirs["time"][:]) and np.allclose(ours["time"], [0, 1, 2])
    with xr.open_dataset(tmp_path / "python.h5", engine="h5netcdf", decode_times=False) as run:
        assert np.allclose(run["temperature"].coords["time"], [0, 1, 2])
    if ranks == 2:
        expect_other_tools(tmp_path / "python.h5", ["temperature"], tmp_path)


def test_a_block_of_an_amr_mesh_has_its_level(python, tmp_path):
    layouts = ('<mesh name="patches" type="amr" levels="2" spacing="1"/><layout name="cells" type="long" dimensions="4"/>'
               '<variable name="rho" layout="cells" mesh="patches" store="lines"/>')
    text = XML.format(layouts=layouts).replace("</storage>", '<store name="lines" type="trace"/></storage>')
    (tmp_path / "py.xml").write_text(text)
    run(python, tmp_path, '''
import leat
import numpy as np
leat.init("py.xml")
for wrong, status in ((lambda: leat.write("rho", np.arange(4)), "SHAPE"), (lambda: leat.set_level("patch", 0, [0]), "UNKNOWN_NAME"),
                      (lambda: leat.set_level("patches", 2, [0]), "ARGUMENT"),
                      (lambda: leat.set_level("patches", 0, [0, 0]), "ARGUMENT")):
    try:
        wrong()
    except leat.Error as e:
        assert e.status == "LEAT_ERROR_" + status, e
    else:
        raise SystemExit(f"{status} is missing")
leat.set_level("patches", np.int32(1), np.array([8]), block=3)
leat.write("rho", np.arange(4), block=3)
try:
    leat.finalize()
except leat.Error as e:
    assert e.status == "LEAT_ERROR_LOST", e
''')
    said = (tmp_path / "py.trace.txt").read_text()
    assert said == "iteration 0 rank 0 block 3 rho (4) 32 bytes level 1 at (8)\n", said


def test_a_signal_stores_the_iteration(python, tmp_path):
    text = XML.format(layouts="").replace("</storage>", '</storage><actions><event name="mark" store="out"/></actions>')
    (tmp_path / "py.xml").write_text(text)
    run(python, tmp_path, """
import leat, numpy as np
leat.init("py.xml")
try:
    leat.signal("marc")
except leat.Error as e:
    assert e.status == "LEAT_ERROR_UNKNOWN_NAME", e
for i in range(3):
    leat.write("blocks", np.full(8, i))
    if i == 1:
        leat.signal("mark")
    leat.end_iteration()
leat.finalize()
""")
    with h5py.File(tmp_path / "py.h5") as file:
        assert file["iteration"][:].tolist() == [1] and file["blocks"][0].tolist() == [1] * 8


def test_what_a_simulation_has_stored_is_read_by_the_same_package(python, tmp_path):
    """Of pip, and in the same process; all that it lists is there."""
    (tmp_path / "py.xml").write_text(XML.format(layouts=""))
    run(python, tmp_path, """
import leat
import numpy as np
names = [name for name in dir(leat) if not name.startswith("_")]
assert {"init", "write", "open", "Context", "client"} <= set(names), names
for name in names:
    getattr(leat, name)
leat.init("py.xml")
leat.set("n", 2)
leat.set("title", "text")
for i in range(3):
    leat.write("grid", np.full((2, 3), float(i)))
    leat.end_iteration()
leat.finalize()
numbers = []
for it in leat.open("py.h5").follow(timeout=60):
    numbers.append(it.number)
    assert it["grid"][0].tolist() == [[it.number] * 3] * 2 and it.parameters["title"] == "text"
assert numbers == [0, 1, 2] and leat.open("py.h5").state == "ended"
""")


def test_each_c_call_has_its_python_twin():
    c_calls = set(re.findall(r"LEAT_API [\w ]*\*? ?leat_(\w+)\(", (ROOT / "client-api/api/leat.h").read_text()))
    # One Python name for several C ones: block is an optional argument, an array says what it is, comm says the ranks, `with` the end.
    folded = {"write_block", "write_typed", "read_block", "read_typed", "alloc_block",
              "commit_block", "init_ranks", "idle_begin", "idle_end"}
    modules = [(ROOT / "python-plugins/leat" / name).read_text() for name in ("client.py", "_calls.py")]
    public = {name for module in modules for name in re.findall(r'"(\w+)"', re.search(r"__all__ = [\[(](.*?)[\])]", module, re.S)[1])}
    # In C an array does not say what it is, so that several have no call of their own.
    assert c_calls - folded == public - {"Error", "set", "split", "idle", "write_all", "read_all"}


def test_a_checkpoint_comes_back_into_any_view(python, tmp_path):
    (tmp_path / "py.xml").write_text("""<simulation name="py"><data><parameter name="t" type="double"/>
<layout name="cells" type="double" dimensions="?,6" global="4,6"/><layout name="one" type="int" dimensions=""/>
<group name="checkpoint" keep="1"><variable name="u" layout="cells"/><variable name="k" layout="one"/></group></data></simulation>""")
    run(python, tmp_path, """
import leat, numpy as np
leat.init("py.xml")
assert leat.restart_step() == 0
leat.end_iteration()
leat.set("t", 0.25)
leat.write("checkpoint/u", np.arange(24.0).reshape(4, 6))
leat.write("checkpoint/k", np.int32(5))
leat.finalize()
""")
    said = run(python, tmp_path, """
import leat, numpy as np
leat.init("py.xml")
assert leat.restart_step() == 2 == leat.iteration() and leat.get_double("t") == 0.25
big = np.zeros((6, 12), order="F")
leat.set_position("checkpoint/u", [1, 0])
leat.read("checkpoint/u", big[::2, ::-2])
print(big.tolist())
k = np.zeros((), "i4")
leat.read("checkpoint/k", k)
for array in (np.zeros((3, 6), "f4"), np.zeros((3, 5)), np.frombuffer(bytes(144)).reshape(3, 6)):
    try:
        leat.read("checkpoint/u", array)
    except (leat.Error, BufferError, ValueError) as error:
        print(int(k), getattr(error, "status", "read-only"))
leat.finalize()
""").splitlines()
    wanted = np.zeros((6, 12))
    wanted[::2, ::-2] = np.arange(24.0).reshape(4, 6)[1:]
    said = [line for line in said if " leatd " not in line]  # what the server says stands behind
    assert said == [str(wanted.tolist()), "5 LEAT_ERROR_TYPE", "5 LEAT_ERROR_SHAPE", "5 read-only"]
    assert run(python, tmp_path, "import leat; leat.init('py.xml'); print(leat.restart_step())", LEAT="off") == "None\n"


def test_the_page_on_meshes_is_followed_word_by_word(python, tmp_path):
    page = (ROOT / "docs/how-to/meshes.md").read_text()
    files = dict(re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", page, re.S))
    (tmp_path / "meshes.xml").write_text(files["meshes.xml"])
    said = run(python, tmp_path, files["meshes.py"])
    assert "nothing lost" in said and "warning" not in said, said
    path = shutil.copy(tmp_path / "meshes.h5", tmp_path / "meshes.nc")
    fields = ["temperature", "corner_height", "rain", "pressure"]
    expect_other_tools(path, fields, tmp_path)
    for reader in ("iris", "cf", "plot"):
        list(readers.expect_reader(reader, {path: fields}, tmp_path))
    readers.expect_cf(path, tmp_path)
    seen = readers.vtk("judges", path, tmp_path / "seen.npz")
    with h5py.File(path) as file:
        for step in range(3):
            assert same_bits(seen[f"{step}/plate/C/temperature"], file["temperature"][step].ravel())
            assert same_bits(seen[f"{step}/plate/P/corner_height"], file["corner_height"][step].ravel())
            assert same_bits(seen[f"{step}/earth/P/rain"], file["rain"][step].ravel())
            assert same_bits(seen[f"{step}/ring/P/pressure"], file["pressure"][step].ravel())
            assert seen[f"{step}/body/C/body_stress"].tolist() == [step, 2 * step] and len(seen[f"{step}/atoms/points"]) == 5 + step
    shown = re.search(r"```python\n(>>>.*?)```", page, re.S).group(1)
    failed, _ = doctest.DocTestRunner().run(doctest.DocTestParser().get_doctest(
        shown.replace('"meshes.h5"', repr(str(tmp_path / "meshes.h5"))), {}, "meshes.md", None, 0))
    assert failed == 0


SPLIT = """
import os, sys
import leat, numpy as np
from mpi4py import MPI
simulation = leat.split("run.xml", MPI.COMM_WORLD)
if simulation is None:
    try:
        leat.init("run.xml", comm=MPI.COMM_NULL)
    except leat.Error as error:
        print(error.status, flush=True)
    sys.exit()
leat.init("run.xml", comm=simulation)
for i in range(3):
    leat.write("u", np.full(4, 10.0 * simulation.rank + i))
    leat.end_iteration()
if simulation.rank > 0 or os.environ["LEAT_PLACE"] == "process":  # one forgets it, which a split makes up for
    leat.finalize()
"""


@pytest.mark.parametrize("place", ["process", "ranks"])
def test_ranks_become_servers_with_mpi4py(python, tmp_path, place):
    (tmp_path / "run.xml").write_text('<simulation name="run"><architecture><buffer size="16MiB"/></architecture><data>'
                                      '<layout name="l" type="double" dimensions="4"/><variable name="u" layout="l"/></data>'
                                      '<storage><store name="out" type="hdf5"/></storage></simulation>')
    (tmp_path / "sim.py").write_text(SPLIT)
    said = sh("mpirun", "--oversubscribe", "-n", "3", python, "sim.py", cwd=tmp_path, LEAT_RUNTIME_DIR=str(tmp_path / "r"),
              LEAT_PLACE=place, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    assert ("LEAT_ERROR_STATE" in said) == (place == "ranks"), said
    with h5py.File(tmp_path / "run.h5") as file:
        for row in range(3):
            blocks = stored_ranks(file, "u", row)
            assert {rank: block.tolist() for rank, block in blocks.items()} == {
                rank: [10.0 * rank + row] * 4 for rank in range(2 if place == "ranks" else 3)}

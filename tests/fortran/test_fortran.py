# SPDX-License-Identifier: Apache-2.0
"""Fortran programs, built with warnings and all run-time checks, read back by h5py bit for bit."""
import os
import pathlib
import re
import shutil
import subprocess

import h5py
import matrix
import numpy as np
import pytest
from leat_run import BUILD, same_bits
from stored_blocks import stored_blocks
from varying_sizes import STATUSES, XML, expect

HERE = pathlib.Path(__file__).parent


def run(program, folder, status=0, **environment):
    done = subprocess.run([BUILD / "bin" / program], cwd=folder, capture_output=True, text=True, timeout=120,
                          env={**os.environ, "LEAT_RUNTIME_DIR": str(folder / "r"), **environment})
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout, done.stderr


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("matrix")
    (folder / "matrix.xml").write_text(matrix.xml())
    _, said = run("fortran_matrix", folder)
    assert "array temporary" not in said  # -fcheck=all reports each hidden copy
    with h5py.File(folder / "matrix.h5") as file:
        yield {name: found[...] for name, found in file.items() if isinstance(found, h5py.Dataset)}


@pytest.mark.parametrize("name, expected, extents", list(matrix.cases()), ids=lambda v: v if isinstance(v, str) else "")
def test_each_kind_rank_and_section_arrives(stored, name, expected, extents):
    got = stored[name]
    if len(extents) - name.startswith("char3") > 1:  # several "?": flattened, with extents
        assert stored[name + "_extent"].reshape(-1).tolist() == extents
    assert same_bits(got.reshape(-1), expected)


@pytest.fixture(scope="module")
def verbs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("verbs")
    shutil.copy(HERE / "verbs.xml", folder)
    out, err = run("fortran_verbs", folder)
    said = {m[1]: (int(m[2]), m[3]) for m in re.finditer(r"^([a-z ]+): (-?\d+) (.*)$", out, re.M)}
    return folder, said, out, err


@pytest.mark.parametrize("what, status, part", [
    ("before init", -2, "before leat_init"),
    ("kind", -5, '"u" is declared double (x=3, y=2) in verbs.xml:8, got real(4) (3, 2)'),
    ("shape", -6, '"u" is declared double (x=3, y=2) in verbs.xml:8, got real(8) (2, 2)'),
    ("rank", -6, "got real(8) (3)"),
    ("name", -4, 'did you mean "u"'),
    ("alloc", -5, '"q" is declared double (x=3, y=2)'),
    ("get of a wrong kind", -5, "use leat_get_double"),
    ("get of nothing", -4, 'did you mean "dt"'),
    ("get of many", -5, 'the value of "many" does not fit integer(4)'),
    ("get of a long text", -1, "needs 10 bytes"),
    ("one number for two dimensions", -1, 'variable "u" (verbs.xml:11) has 2 dimensions (x, y): as many numbers are needed, '
                                          "and 1 was given"),
    ("three numbers for two dimensions", -1, "has 2 dimensions (x, y): as many numbers are needed, and 3 were given"),
    ("twenty numbers", -1, "leat_set_position: "),
    ("twenty numbers", -1, "and 20 were given"),
    ("ten extents", -1, "leat_set_extent: "),
    ("ten extents", -1, "and 10 were given"),
    ("no extents", -1, "and 0 were given"),
    ("outside", -6, "a block of (3, 1, 2) at position (1, 5, 1) does not lie inside the global (3, 4, 2)"),
    ("turned round", -6, '"s" is declared double (i=3, j=2, k=2)'),
    ("without a level", -6, 'lies on the amr mesh "patches": call leat_set_level("patches", ...)'),
    ("level", -1, 'has no level 2: levels count from 0 to 1, as levels="2" says'),
    ("place in a level", -1, "has 3 dimensions, and the position has 2"),
    ("signal", -4, 'verbs.xml declares no event "marks"; did you mean "mark"?'),
    ("finalize", -14, '"u" of iteration 0'),
])
def test_each_mismatch_names_what_is_declared_and_what_came(verbs, what, status, part):
    assert verbs[1][what][0] == status and part in verbs[1][what][1], verbs[1][what]


def test_fortrans_x_y_is_y_x_in_the_file(verbs):
    with h5py.File(verbs[0] / "verbs.h5") as file:
        u = np.array([[10 * x + y for x in (1, 2, 3)] for y in (1, 2)], "f8")
        for name in ("u", "p"):
            assert same_bits(file[name][0], u)
        assert [d[0].name for d in file["u"].dims] == ["/iteration", "/y", "/x"]
        assert same_bits(file["part"][0, :, 2:], u[:, :2]) and np.isnan(file["part"][0, :, :2]).all()


def test_places_in_a_level_count_from_one_in_the_order_of_fortran(verbs):
    said = (verbs[0] / "verbs.trace.txt").read_text()
    assert "iteration 0 rank 0 block 4 rho (1, 2, 3) 48 bytes level 1 at (1, 2, 6)\n" in said, said


def test_a_signal_from_fortran_stores_the_iteration(verbs):
    assert "iteration 0 " in (verbs[0] / "marked.txt").read_text() and not (verbs[0] / "never.txt").read_text()


def test_the_other_verbs_answer(verbs):
    assert verbs[1]["init"][0] == 0 and "status: LEAT_ERROR_FULL" in verbs[2] and "last error: leat_write" in verbs[2]


def test_without_a_server_values_of_parameters_stay_and_there_is_no_memory_to_compute_in(tmp_path):
    run("fortran_gets", tmp_path, LEAT="off", LEAT_ON_ERROR="abort")


def test_without_stat_the_run_goes_on_unless_it_shall_abort(tmp_path):
    (tmp_path / "matrix.xml").write_text(matrix.xml().replace('name="int32_2_strided"', 'name="other"'))
    run("fortran_matrix", tmp_path, status=2)  # goes on to leat_finalize, which says that something is lost
    _, said = run("fortran_matrix", tmp_path, status=-6, LEAT_ON_ERROR="abort")
    assert "LEAT_ON_ERROR=abort" in said and "int32_2_strided" in said


def test_without_stat_the_end_says_that_leat_init_had_failed(tmp_path):
    done = subprocess.run([BUILD / "bin" / "fortran_square", "0"], cwd=tmp_path, capture_output=True, text=True, timeout=60,
                          env={**os.environ, "LEAT_RUNTIME_DIR": str(tmp_path / "r")})
    first, last = done.stderr.splitlines()
    assert first == "leat: leat_init_ranks: square.xml: error: cannot read the file: no such file"
    assert last.startswith("leat: leat_finalize: nothing of this run is stored: leat_init_ranks had failed, and 1 write of this rank")


def test_each_c_call_has_its_fortran_twin():
    c_calls = set(re.findall(r"LEAT_API [\w ]*\*? ?(leat_\w+)\(", (HERE.parents[1] / "client-api/api/leat.h").read_text()))
    module = (HERE.parents[1] / "fortran/leat.f90").read_text() + (BUILD / "fortran/leat_calls_names.inc").read_text()
    # One Fortran name for several C ones: block is an optional argument, and an array says what it is.
    folded = {"leat_write_block", "leat_write_typed", "leat_read_block", "leat_read_typed", "leat_alloc_block", "leat_commit_block"}
    public = set(re.findall(r"leat_\w+", " ".join(re.findall(r"^  public :: (.*)$", module, re.M))))
    # leat_get is all three leat_get_...; in C an array does not say what it is, so that several have no call of their own.
    assert c_calls - folded == public - {"leat_get", "leat_write_all", "leat_read_all"}


SQUARE = """<simulation name="square"><architecture><buffer size="16MiB"/></architecture><data>
<layout name="l" type="double" dimensions="{dimensions}" global="{whole}" ghosts="{ghosts}" names="{names}"{order}/>
<mesh name="m" type="uniform" spacing="1,10"/><variable name="u" layout="l" mesh="m"/>
</data><storage><store name="out" type="hdf5"/></storage></simulation>"""
TURNED = {"as declared": {"dimensions": "4,4", "whole": "3,8", "ghosts": "0:1,0", "names": "i,k", "order": ' order="fortran"'},
          "in c order": {"dimensions": "4,4", "whole": "8,3", "ghosts": "0,0:1", "names": "k,i", "order": ' order="c"'},
          "unsaid": {"dimensions": "4,4", "whole": "8,3", "ghosts": "0,0:1", "names": "k,i", "order": ""}}


@pytest.mark.parametrize("name", TURNED)
def test_a_square_is_stored_as_it_is_declared_in_either_order(tmp_path, name):
    """u(i, k) on two ranks, 4 x 4 on each, of which the last i is a ghost: nothing but `order` says which way round it is."""
    (tmp_path / "square.xml").write_text(SQUARE.format(**TURNED[name]))
    done = [subprocess.Popen([BUILD / "bin" / "fortran_square", str(rank)], cwd=tmp_path,
                             env={**os.environ, "LEAT_RUNTIME_DIR": str(tmp_path / "r")}) for rank in (0, 1)]
    assert [process.wait(60) for process in done] == [0, 0]
    with h5py.File(tmp_path / "square.h5") as file:
        assert [d[0].name for d in file["u"].dims] == ["/iteration", "/k", "/i"]
        assert same_bits(file["u"][0], np.array([[10. * i + k for i in (1, 2, 3)] for k in range(1, 9)]))
        assert file["i"][:2].tolist() == [.5, 1.5] and file["k"][:2].tolist() == [5., 15.]  # x runs along i


SMALL = """<simulation name="{name}"><architecture><buffer size="16MiB"/></architecture><data>
<layout name="l" type="{type}" dimensions="{n}"/><variable name="{variable}" layout="l"/>
</data><storage><store name="out" type="hdf5"/></storage></simulation>"""


def test_openmp_threads_may_write_at_once(tmp_path):
    (tmp_path / "threads.xml").write_text(SMALL.format(name="threads", type="long", n=8, variable="blocks"))
    run("fortran_threads", tmp_path)
    with h5py.File(tmp_path / "threads.h5") as file:
        for row in range(20):
            stored = stored_blocks(file, "blocks", row)
            assert {owner: block.tolist() for owner, block in stored.items()} == {
                (0, block): [100 * (row + 1) + block] * 8 for block in range(16)}


def test_any_communicator_of_both_kinds_is_taken(tmp_path):
    for name in ("even", "odd"):
        (tmp_path / f"{name}.xml").write_text(SMALL.format(name=name, type="double", n=3, variable="u"))
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}
    done = subprocess.run(["mpirun", "--oversubscribe", "-n", "4", BUILD / "bin/fortran_communicators"], cwd=tmp_path,
                          capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL,
                          env={**os.environ, **root, "LEAT_RUNTIME_DIR": str(tmp_path / "r")})
    assert done.returncode == 0, done.stdout + done.stderr
    for name, ranks in (("even", (0, 2)), ("odd", (1, 3))):
        with h5py.File(tmp_path / f"{name}.h5") as file:
            assert [block[0] for block in stored_blocks(file, "u").values()] == list(ranks)


def test_sizes_change_only_where_they_may(tmp_path):
    (tmp_path / "varying.xml").write_text(XML)
    out, _ = run("fortran_varying", tmp_path)
    assert [int(word) for word in out.split()] == STATUSES
    expect(tmp_path)

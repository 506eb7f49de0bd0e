# SPDX-License-Identifier: Apache-2.0
"""docs/reference/damaris.md has each call and each code of Damaris.h, libdamaris exports each of them with its twin for Fortran, and
nothing is passed over in silence."""
import re
import subprocess

import pytest
from damaris_run import HERE
from leat_run import BUILD

HEADER = (HERE.parents[1] / "damaris-api" / "Damaris.h").read_text()
PAGE = (HERE.parents[1] / "docs" / "reference" / "damaris.md").read_text()
CALLS = dict(re.findall(r"^DAMARIS_API int (damaris_\w+)\(([^;]*)\);", HEADER, re.M))
CODES = re.findall(r"\b(DAMARIS_\w+)", re.search(r"enum \{(.*?)\n\};", re.sub(r"/\*.*?\*/", "", HEADER), re.S)[1])
ROWS = {name: (arguments, same, different.strip()) for name, arguments, same, different in
        re.findall(r"^\| `(damaris_\w+)\((.*?)\)` \| (.*?) \|(.*)\|$", PAGE, re.M)}
MEANINGS = dict(re.findall(r"^\| `(DAMARIS_\w+)` \| (.*?) \|$", PAGE, re.M))
# The calls of Damaris 1.7.1, and its codes in their order.
OF_DAMARIS = """initialize finalize start stop write write_block alloc alloc_block commit commit_block commit_iteration
commit_block_iteration clear clear_block clear_iteration clear_block_iteration signal bind parameter_get parameter_set set_position
set_block_position client_comm_get end_iteration get_iteration""".split()
CODES_OF_DAMARIS = """OK INIT_ERROR FINALIZE_ERROR CORE_IS_SERVER NO_SERVER ALLOCATION_ERROR CONFIG_ERROR ARGUMENT_ERROR MPI_ERROR
DATASPACE_ERROR CHANNEL_ERROR INVALID_TAG NOT_INITIALIZED ALREADY_INITIALIZED UNDEFINED_ACTION UNDEFINED_PARAMETER
UNDEFINED_VARIABLE INVALID_BLOCK INVALID_DIMENSIONS BLOCK_NOT_FOUND REACTOR_NOT_FOUND BIND_ERROR ERROR_UNKNOWN""".split()


def arguments_of(declaration):
    """The names of the arguments of a C declaration."""
    return "" if declaration == "void" else ", ".join(re.search(r"(\w+)$", a.strip())[1] for a in declaration.split(","))


def exported():
    listed = subprocess.run(["nm", "-D", "--defined-only", BUILD / "lib" / "libdamaris.so"], capture_output=True, text=True, check=True)
    return {line.split()[-1] for line in listed.stdout.splitlines()}


def test_the_header_has_all_of_damaris():
    assert list(CALLS) and set(CALLS) == {f"damaris_{name}" for name in OF_DAMARIS}
    assert CODES == [f"DAMARIS_{name}" for name in CODES_OF_DAMARIS] and len(CODES) == 1 + 22


def test_the_library_has_each_call_and_its_twin():
    twins = {f"{call}_f_" for call in CALLS} - {"damaris_bind_f_"}  # Damaris has none either
    assert exported() == set(CALLS) | twins


@pytest.mark.parametrize("call", CALLS)
def test_each_call_has_its_row(call):
    arguments, same, different = ROWS[call]
    assert arguments == arguments_of(CALLS[call])
    assert same != "-" or len(different) > 40 or different.startswith("as `damaris_"), "what it does instead is not said"


def test_the_table_has_nothing_else():
    assert set(ROWS) == set(CALLS) and set(MEANINGS) == set(CODES)
    assert not re.search(r"silently|ignored", "".join(sum(ROWS.values(), ())))


def test_calls_of_leat_that_the_table_names_are_those_of_leat():
    leat_h = (HERE.parents[1] / "client-api" / "leat.h").read_text() + (HERE.parents[1] / "client-api" / "leat_mpi.h").read_text()
    named = set(re.findall(r"leat_\w+", "".join(same + different for _, same, different in ROWS.values())))
    assert named and all(re.search(rf"\b{name}\(", leat_h) for name in named)


@pytest.mark.parametrize("code", [c for c in CODES if MEANINGS.get(c) != "never"])
def test_codes_that_the_table_explains_are_returned(code):
    sources = "".join(p.read_text() for p in (HERE.parents[1] / "damaris-api").glob("*.cpp"))
    assert re.search(rf"\b{code}\b", sources)


@pytest.mark.parametrize("code", [c for c in CODES if MEANINGS.get(c) == "never"])
def test_codes_that_the_table_calls_unused_are(code):
    sources = "".join(p.read_text() for p in (HERE.parents[1] / "damaris-api").glob("*.cpp"))
    assert not re.search(rf"\b{code}\b", sources)

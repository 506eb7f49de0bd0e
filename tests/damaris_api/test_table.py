# SPDX-License-Identifier: Apache-2.0
"""docs/reference/damaris.md has each call and each code of Damaris.h, libdamaris exports each of them with its twin for Fortran, and
nothing is passed over in silence."""
import re
import subprocess

import pytest
from damaris_run import HERE
from leat_run import BUILD

FOLDER = HERE.parents[1] / "client-api/integrations/damaris"
HEADER = (FOLDER / "Damaris.h").read_text()
PAGE = (HERE.parents[1] / "docs" / "reference" / "damaris.md").read_text()
CALLS = dict(re.findall(r"^DAMARIS_API (?:int|const char\*) (damaris_\w+)\(([^;]*)\);", HEADER, re.M))
CODES = re.findall(r"\b(DAMARIS_\w+)", re.search(r"enum \{(.*?)\n\};", re.sub(r"/\*.*?\*/", "", HEADER), re.S)[1])
ROWS = {name: (arguments, same, different.strip()) for name, arguments, same, different in
        re.findall(r"^\| `(damaris_\w+)\((.*?)\)` \| (.*?) \|(.*)\|$", PAGE, re.M)}
MEANINGS = dict(re.findall(r"^\| `(DAMARIS_\w+)` \| (.*?) \|$", PAGE, re.M))
VERSION = re.search(r'^#define DAMARIS_VERSION "(.*)"$', HEADER, re.M)[1]
# The calls of Damaris 1.9, and its codes in their order. Of the last three there are none for Fortran.
OF_DAMARIS = """initialize finalize start stop write write_block alloc alloc_block commit commit_block commit_iteration
commit_block_iteration clear clear_block clear_iteration clear_block_iteration signal bind parameter_get parameter_set set_position
set_block_position client_comm_get end_iteration get_iteration get_type has_plugin error_string""".split()
CODES_OF_DAMARIS = """OK INIT_ERROR FINALIZE_ERROR CORE_IS_SERVER NO_SERVER ALLOCATION_ERROR CONFIG_ERROR ARGUMENT_ERROR MPI_ERROR
DATASPACE_ERROR CHANNEL_ERROR INVALID_TAG NOT_INITIALIZED ALREADY_INITIALIZED UNDEFINED_ACTION UNDEFINED_PARAMETER
UNDEFINED_VARIABLE INVALID_BLOCK INVALID_DIMENSIONS BLOCK_NOT_FOUND REACTOR_NOT_FOUND BIND_ERROR ERROR_UNKNOWN""".split()


def arguments_of(declaration):
    """The names of the arguments of a C declaration."""
    return "" if declaration == "void" else ", ".join(re.search(r"(\w+)$", a.strip())[1] for a in declaration.split(","))


def exported():
    listed = subprocess.run(["nm", "-D", "--defined-only", BUILD / "lib" / "libdamaris.so"], capture_output=True, text=True, check=True)
    return {line.split()[-1] for line in listed.stdout.splitlines()}


def test_each_code_has_a_text_of_its_own():
    texts = re.findall(r'^DAMARIS_CODE\((\w+), "(.*)"\)$', (FOLDER / "codes.def").read_text(), re.M)
    assert [f"DAMARIS_{name}" for name, _ in texts] == CODES and len({text for _, text in texts}) == len(CODES)


def test_the_header_has_all_of_damaris():
    assert list(CALLS) and set(CALLS) == {f"damaris_{name}" for name in OF_DAMARIS}
    assert CODES == [f"DAMARIS_{name}" for name in CODES_OF_DAMARIS] and len(CODES) == 1 + 22


def test_the_version_is_said_once():
    """By the header; CMake and pkg-config have it from there, and the page repeats it."""
    parts = [re.search(rf"^#define DAMARIS_VERSION_{part} (\d+)$", HEADER, re.M)[1] for part in ("MAJOR", "MINOR", "PATCH")]
    assert ".".join(parts) == VERSION and f"are the calls of Damaris {VERSION} " in PAGE
    built = BUILD / "client-api" / "integrations" / "damaris"
    assert f"Version: {VERSION}\n" in (built / "damaris.pc").read_text()
    assert f'set(PACKAGE_VERSION "{VERSION}")' in (built / "DamarisConfigVersion.cmake").read_text()
    others = [p for p in FOLDER.rglob("*") if p.is_file() and p.name != "Damaris.h"]
    assert others and not [p for p in others if re.search(r"\b1\.[0-9]+\.[0-9]\b", p.read_text())]


def test_the_page_has_each_header_for_c_plus_plus():
    headers = {str(p.relative_to(FOLDER)) for p in (FOLDER / "damaris").rglob("*.hpp")}
    assert headers and set(re.findall(r"^\| `(damaris/.*?\.hpp)` \|", PAGE, re.M)) == headers


def test_the_library_has_each_call_and_its_twin():
    twins = {f"damaris_{name}_f_" for name in OF_DAMARIS[:-3]} - {"damaris_bind_f_"}  # Damaris has none either
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
    leat_h = "".join((HERE.parents[1] / "client-api" / "api" / name).read_text() for name in ("leat.h", "leat_mpi.h", "leat_build.h"))
    named = set(re.findall(r"leat_\w+", "".join(same + different for _, same, different in ROWS.values())))
    assert named and all(re.search(rf"\b{name}\(", leat_h) for name in named)


@pytest.mark.parametrize("code", [c for c in CODES if MEANINGS.get(c) != "never"])
def test_codes_that_the_table_explains_are_returned(code):
    sources = "".join(p.read_text() for p in FOLDER.glob("*.cpp"))
    assert re.search(rf"\b{code}\b", sources)


@pytest.mark.parametrize("code", [c for c in CODES if MEANINGS.get(c) == "never"])
def test_codes_that_the_table_calls_unused_are(code):
    sources = "".join(p.read_text() for p in FOLDER.glob("*.cpp"))
    assert not re.search(rf"\b{code}\b", sources)

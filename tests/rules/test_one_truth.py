# SPDX-License-Identifier: Apache-2.0
"""What is said twice is said the same; and every file carries its licence."""
import re

import pytest
from tree import ROOT, files, sources


def text(path):
    return (ROOT / path).read_text()


def test_leat_h_has_the_status_codes_of_status_def():
    named = dict(re.findall(r"LEAT_(\w+) = (-?\d+)", text("client-api/leat.h")))
    declared = {n: v for n, v in named.items() if not n.startswith("TYPE_")}
    defined = dict(re.findall(r"LEAT_STATUS\((\w+),\s*(-?\d+)", text("lib/base/status.def")))
    assert declared == defined and len(defined) > 10


def test_plugin_h_has_the_types_of_scalar_types_def():
    declared = {n.lower(): v for n, v in re.findall(r"LEAT_([A-Z]+\d*) = (\d+)", text("server/include/plugin.h"))
                if not n.startswith("LOG")}
    defined = {n.lower(): v for n, v in re.findall(r"LEAT_SCALAR\((\w+),\s*(\d+)", text("lib/base/scalar_types.def"))}
    declared["character"] = declared.pop("char")  # "char" is no name in C++
    assert declared == defined and len(defined) > 10


def test_leat_h_has_the_types_of_scalar_types_def():
    declared = {n.lower(): v for n, v in re.findall(r"LEAT_TYPE_(\w+) = (\d+)", text("client-api/leat.h"))}
    defined = dict(re.findall(r"LEAT_SCALAR\((\w+),\s*(\d+)", text("lib/base/scalar_types.def")))
    declared["character"] = declared.pop("char")
    assert declared == defined


def test_the_fortran_module_has_the_status_codes_of_status_def():
    declared = dict(re.findall(r"LEAT_(OK|UNWANTED|ERROR_\w+) = (-?\d+)", text("fortran/leat.f90")))
    assert declared == dict(re.findall(r"LEAT_STATUS\((\w+),\s*(-?\d+)", text("lib/base/status.def")))


def test_the_c_reference_names_everything_that_leat_h_declares():
    header = re.sub(r"/\*.*?\*/", "", text("client-api/leat.h") + text("client-api/leat_mpi.h"), flags=re.S)
    names = set(re.findall(r"\b(leat_\w+)\(|\b(LEAT_[A-Z]+_\w+) = |\} (leat_\w+);", header))
    declared = {name for found in names for name in found if name}
    page = text("docs/reference/c-api.md")
    assert len(declared) > 50 and {n for n in declared if not re.search(rf"\b{n}\b", page)} == set()


def test_the_readme_and_the_makefile_know_the_same_commands():
    made = set(re.findall(r"^## make (\w+)", text("Makefile"), re.M))
    named = set(re.findall(r"make (demo|test|build|bench|install)\b", text("README.md")))
    assert named <= made


SOURCE = (".c", ".cpp", ".h", ".hpp", ".def", ".f90", ".py", ".toml", ".cmake", ".xsd", "CMakeLists.txt")


def carries_a_licence(path):
    """Sources, scripts and examples do. Pages, pictures, data and the reader's cases, whose lines are counted, do not."""
    return path.endswith(SOURCE) or path.startswith(("cmake/", "tools/", ".ci/", "Makefile")) or re.match("examples/.*[.]xml", path)


@pytest.mark.parametrize("path", [p for p in files() if carries_a_licence(p)])
def test_every_source_names_its_licence_in_its_first_line(path):
    lines = [line for line in text(path).splitlines()[:2] if not line.startswith(("#!", "<?xml"))]
    assert "SPDX-License-Identifier: Apache-2.0" in lines[0]


@pytest.mark.parametrize("page", [p for p in files() if p.endswith(".md")])
def test_links_of_the_documentation_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", re.sub(r"```.*?```", "", text(page), flags=re.S)):
        if not link.startswith(("http:", "https:", "mailto:")):
            assert ((ROOT / page).parent / link).exists(), link


def test_no_source_is_longer_than_a_reader_wants():
    longest = {p: len(text(p).splitlines()) for p in sources() if not p.startswith("tests/")}
    assert {p: n for p, n in longest.items() if n > 350} == {}


@pytest.mark.parametrize("path", [p for p in files() if re.match(r"tests/.*/test_\w+\.py$", p)])
def test_every_python_test_is_run_by_ctest(path):
    folder, _, name = path.rpartition("/")
    assert name in text(f"{folder}/CMakeLists.txt")

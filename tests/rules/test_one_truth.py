# SPDX-License-Identifier: Apache-2.0
"""What is said twice is said the same."""
import re

from tree import text


def test_leat_h_has_the_status_codes_of_status_def():
    named = dict(re.findall(r"LEAT_(\w+) = (-?\d+)", text("client-api/leat.h")))
    declared = {n: v for n, v in named.items() if not n.startswith("TYPE_")}
    defined = dict(re.findall(r"LEAT_STATUS\((\w+),\s*(-?\d+)", text("lib/base/status.def")))
    assert declared == defined and len(defined) > 10


def enumerators(path, enum):
    """{name in lower case: value} of an enum of C or C++."""
    body = re.search(rf"enum (?:class )?{enum}[^{{;]*\{{(.*?)\}}", text(path), re.S).group(1)
    return {name.lower(): value for name, value in re.findall(r"(\w+) = (\d+)", body)}


def test_plugin_h_has_the_types_of_scalar_types_def():
    declared = {n.removeprefix("leat_"): v for n, v in enumerators("server/include/plugin.h", "leat_scalar").items()}
    defined = {n.lower(): v for n, v in re.findall(r"LEAT_SCALAR\((\w+),\s*(\d+)", text("lib/base/scalar_types.def"))}
    declared["character"] = declared.pop("char")  # "char" is no name in C++
    assert declared == defined and len(defined) > 10


def test_plugin_h_has_the_meshes_of_the_model():
    kinds, centerings = (enumerators("server/include/plugin.h", e) for e in ("leat_mesh_kind", "leat_centering"))
    mesh = text("lib/model/model.hpp").split("struct Mesh {")[1]
    assert {n.removeprefix("leat_mesh_"): v for n, v in kinds.items()} == dict(re.findall(r"(\w+) = (\d)", mesh.split("};")[0]))
    assert {n.removeprefix("leat_"): v for n, v in centerings.items()} == enumerators("lib/model/model.hpp", "Centering")


def test_leat_h_has_the_types_of_scalar_types_def():
    declared = {n.lower(): v for n, v in re.findall(r"LEAT_TYPE_(\w+) = (\d+)", text("client-api/leat.h"))}
    defined = dict(re.findall(r"LEAT_SCALAR\((\w+),\s*(\d+)", text("lib/base/scalar_types.def")))
    declared["character"] = declared.pop("char")
    assert declared == defined


def test_the_fortran_module_has_the_status_codes_of_status_def():
    declared = dict(re.findall(r"LEAT_(OK|UNWANTED|DROPPED|ERROR_\w+) = (-?\d+)", text("fortran/leat.f90")))
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

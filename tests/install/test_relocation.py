# SPDX-License-Identifier: Apache-2.0
"""Nothing in an installed tree says where it was built or installed first; the fixture has moved it since."""
import pathlib
import re

import pytest
from conftest import sh
from leat_run import BUILD

SOURCE = pathlib.Path(__file__).parents[2]
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(versions LANGUAGES C)
find_package(Leat {wanted} CONFIG)
message(STATUS "found: ${{Leat_FOUND}} ${{Leat_INCLUDE_DIR}}")
"""


def elf_files(installed):
    return [p for p in installed.rglob("*") if p.is_file() and not p.is_symlink() and p.read_bytes()[:4] == b"\x7fELF"]


def test_no_file_for_cmake_or_pkg_config_names_a_place(installed):
    files = [p for p in installed.rglob("*") if p.suffix in (".cmake", ".pc")]
    assert len(files) >= 4
    for file in files:
        for place in (BUILD, SOURCE, installed.parent):
            assert str(place) not in file.read_text(), file


def test_no_program_or_library_looks_for_libraries_in_a_fixed_place(installed):
    assert len(elf_files(installed)) >= 6
    for file in elf_files(installed):
        for found in re.findall(r"R(?:UN)?PATH.*\[(.*)\]", sh("readelf", "-d", file, cwd="/")):
            assert all(folder.startswith("$ORIGIN") for folder in found.split(":")), file


def test_programs_and_plugins_find_all_their_libraries(installed):
    lib = next(installed.glob("lib*/**/libleat.so")).parent
    for file in elf_files(installed):
        assert "not found" not in sh("ldd", file, cwd="/", environment={"LD_LIBRARY_PATH": str(lib)}), file


@pytest.mark.parametrize("wanted, found", [("", 1), ("0.1", 1), ("0.2", 0), ("1.0", 0)])
def test_cmake_takes_the_versions_that_fit(installed, tmp_path, wanted, found):
    (tmp_path / "CMakeLists.txt").write_text(PROJECT.format(wanted=wanted))
    said = sh("cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={installed}", cwd=tmp_path)
    assert f"found: {found} {installed / 'include' if found else ''}".rstrip() in said

# SPDX-License-Identifier: Apache-2.0
"""docs/how-to/install.md: its table of libraries is what the programs are linked with, and what tools/setup installs."""
import pathlib
import re

from conftest import sh
from leat_run import BUILD

ROOT = pathlib.Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/install.md").read_text()
TABLE = re.search(r"^\| what \|.*?(?=\n\n)", PAGE, re.M | re.S)[0].splitlines()
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in TABLE[2:]]
# Of the system, on every node.
ALWAYS_THERE = {"libc", "libm", "ld-linux-x86-64"}


def in_code(column):
    return {name for row in ROWS for name in re.findall(r"`([^`]+)`", row[column])}


def needed(program):
    found = re.findall(r"\(NEEDED\).*\[(.*?)\.so", sh("readelf", "-d", program, cwd=BUILD))
    return {re.sub(r"(?<=[a-z])-\d[\d.]*$", "", name) for name in found}


def test_the_libraries_of_the_last_column_are_those_that_programs_are_linked_with():
    programs = ["bin/leatd", "bin/leat", "lib/libleat_server.so", "lib/leat/plugins/hdf5.so", "lib/leat/plugins/to-staging.so",
                "lib/leat/plugins/staging-node", "lib/libleat_fortran.so"]
    found = set().union(*(needed(BUILD / program) for program in programs))
    own = {name for name in found if name.startswith("libleat")}
    assert found - own - ALWAYS_THERE == in_code(4) - {"libleat"}


def test_libleat_needs_the_c_library_only():
    assert needed(BUILD / "lib/libleat.so") <= ALWAYS_THERE and "which needs only the C library" in PAGE


def test_the_packages_are_those_of_tools_setup():
    lists = dict(re.findall(r"^(\w+)=\(\n(.*?)^\)", (ROOT / "tools/setup").read_text(), re.M | re.S))
    named = set(re.sub(r"#.*", "", lists["demo"] + lists["products"]).split())  # of make install
    assert len(in_code(2)) > 12 and in_code(2) <= named


def test_what_is_always_needed_is_what_the_page_of_options_says():
    build = (ROOT / "docs/how-to/build.md").read_text()
    (always,) = re.findall(r"What always is needed: a C\+\+20 compiler, (.*?);", build, re.S)
    listed = set(re.split(r",\s+|\sand\s", always))
    ours = {row[0] for row in ROWS if row[3].startswith("always")}
    assert listed == ours - {"CMake, Ninja", "GCC"}

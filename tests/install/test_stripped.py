# SPDX-License-Identifier: Apache-2.0
"""What is installed is small, and whoever wants to see where a program is gets the debug information beside it."""
import subprocess

import pytest
from conftest import sh
from leat_run import BUILD

PROGRAMS = ["bin/leatd", "bin/leat", "lib/libleat.so", "lib/leat/plugins/hdf5.so"]


def bytes_of(folder):
    return sum(p.lstat().st_size for p in folder.rglob("*"))


def lines_of(installed, name, symbol):
    """function and file:line, as addr2line finds them for the address that `symbol` has in the build."""
    built = BUILD / name
    (address,) = (line.split()[0] for line in sh("nm", built, cwd=BUILD).splitlines() if line.endswith(f" {symbol}"))
    return sh("addr2line", "-f", "-e", installed / name, address, cwd=BUILD).split()


@pytest.fixture(scope="module")
def with_debug(installed):
    """Installed as by `make install-debug`, and moved with its debug information."""
    copy = installed.parent / "with debug"
    subprocess.run(["cp", "-a", installed, copy], check=True)
    sh("cmake", "--install", BUILD, "--prefix", copy, "--component", "debug", cwd=BUILD)
    return copy


def test_all_that_is_installed_takes_less_than_40_mb(installed):
    assert bytes_of(installed) < 40e6
    assert not list(installed.rglob("*.debug"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_and_libraries_have_no_debug_information(installed, name):
    sections = sh("readelf", "-SW", installed / name, cwd=BUILD)
    assert ".debug_info" not in sections and ".gnu_debuglink" in sections and ".symtab" not in sections


@pytest.mark.parametrize("name, symbol, source", [("bin/leatd", "main", "server/driver/leatd.cpp"),
                                                  ("lib/libleat.so", "leat_init", "client-api/api/leat.cpp")])
def test_the_debug_information_is_found_beside_the_program(installed, with_debug, name, symbol, source):
    function, where = lines_of(with_debug, name, symbol)
    assert function == symbol and source in where and where.rsplit(":", 1)[1].isdigit(), (function, where)
    assert lines_of(installed, name, symbol)[1].startswith("??")

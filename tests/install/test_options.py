# SPDX-License-Identifier: Apache-2.0
"""Parts can be left out: without what only they need, the rest is configured and built as it is otherwise, and where something
is missing the configuration says what, and which option does without it."""
import json
import pathlib
import re
import subprocess

import pytest
from conftest import sh
from leat_run import BUILD, LIMIT

ROOT = pathlib.Path(__file__).parents[2]
GONE = {
    "LEAT_HDF5": ["-DCMAKE_DISABLE_FIND_PACKAGE_HDF5=ON"],
    "LEAT_FORTRAN": ["-DCMAKE_Fortran_COMPILER=CMAKE_Fortran_COMPILER-NOTFOUND", "-DCMAKE_DISABLE_FIND_PACKAGE_Python3=ON"],
    "LEAT_PYTHON": [],
    "LEAT_DAMARIS": ["-DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON"],
}
FOLDERS = {"LEAT_DAMARIS": "integrations/damaris"}  # where it is not the option's own name
CACHE = dict(re.findall(r"^(\w+):\w+=(.*)$", (BUILD / "CMakeCache.txt").read_text(), re.M))
SAME = [f"-DCMAKE_{name}={CACHE.get(f'CMAKE_{name}', '')}" for name in (
    "BUILD_TYPE", "C_COMPILER_LAUNCHER", "CXX_COMPILER_LAUNCHER", "C_FLAGS", "CXX_FLAGS", "C_FLAGS_RELWITHDEBINFO",
    "CXX_FLAGS_RELWITHDEBINFO", "Fortran_FLAGS_RELWITHDEBINFO", "COMPILE_WARNING_AS_ERROR")] + [f"-DLEAT_UNITY={CACHE['LEAT_UNITY']}"]


def configure(folder, *options):
    return subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", *SAME, *options],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=2 * LIMIT)


def commands(folder):
    """How which source of C and C++ is compiled, whatever the build folder's name."""
    entries = json.loads((folder / "compile_commands.json").read_text())
    return {(e["file"].replace(str(folder), "."), e["command"].replace(str(folder), ".")) for e in entries
            if not e["file"].endswith(".f90")}


def links(folder, target):
    return sh("ninja", "-t", "commands", target, cwd=folder).splitlines()[-1].replace(str(folder), ".")


@pytest.fixture(scope="module")
def least(tmp_path_factory):
    """Nothing but libleat, leatd and leat, on a machine that has nothing else."""
    folder = tmp_path_factory.mktemp("least")
    done = configure(folder, "-DBUILD_TESTING=OFF", *(f"-D{part}=OFF" for part in GONE), *(o for gone in GONE.values() for o in gone))
    assert done.returncode == 0, done.stderr
    return folder


def test_without_its_parts_leat_needs_nothing_of_theirs(least):
    cache = (least / "CMakeCache.txt").read_text()
    assert not re.search(r"^(HDF5_C_LIB|pybind11|MPI_|GTest_DIR:PATH=/)", cache, re.M)


def test_what_is_left_is_compiled_and_linked_as_in_the_whole(least):
    """So what has been built here for all other tests is built in that configuration too."""
    left, whole = commands(least), commands(BUILD)
    assert len(left) > 60 and left <= whole, left - whole
    for target in ("bin/leatd", "bin/leat", "lib/libleat.so.0.1.0"):
        assert links(least, target) == links(BUILD, target)
    parts = ("/hdf5/", "/fortran/", "/integrations/damaris/", "/tests/")
    assert not [source for source, _ in left if any(part in source for part in parts)]


def test_what_is_left_can_be_built_and_small_targets_are(least):
    sh("ninja", "-n", "all", cwd=least)
    sh("ninja", "leat_stub", "leat_plugin_trace", cwd=least)
    assert (least / "lib/libleat_stub.so").exists() and (least / "lib/leat/plugins/trace.so").exists()


@pytest.mark.parametrize("part", GONE)
def test_each_part_can_be_left_out_by_itself(tmp_path, part):
    done = configure(tmp_path, f"-D{part}=OFF", *GONE[part])
    assert done.returncode == 0, done.stderr
    left, whole = commands(tmp_path), commands(BUILD)
    assert left <= whole, left - whole
    folder = FOLDERS.get(part, part.removeprefix("LEAT_").lower())
    assert not [source for source, _ in left if f"/{folder}/" in source]


@pytest.mark.parametrize("part, package, debian", [("LEAT_HDF5", "HDF5", "libhdf5-dev"),
                                                   ("LEAT_FORTRAN", "A Fortran compiler", "gfortran"),
                                                   ("LEAT_DAMARIS", "MPI", "libopenmpi-dev")])
def test_what_is_missing_is_said_with_the_package_and_the_option(tmp_path, part, package, debian):
    done = configure(tmp_path, *GONE[part])
    said = " ".join(done.stderr.split())
    assert done.returncode != 0 and f"{package} is not found" in said, said
    assert f"apt-get install {debian}" in said and f"-D{part}=OFF builds Leat without it" in said, said


def test_without_a_library_that_is_always_needed_the_package_is_named(tmp_path):
    said = " ".join(configure(tmp_path, "-DCMAKE_DISABLE_FIND_PACKAGE_XercesC=ON").stderr.split())
    assert "XercesC is not found: the reader of the XML needs it. On Debian: apt-get install libxerces-c-dev" in said


def test_a_fortran_compiler_that_is_too_old_is_said_before_anything_is_built(tmp_path):
    done = configure(tmp_path, "-DCMAKE_Fortran_FLAGS=-std=f2003")  # as gfortran 11 is
    said = " ".join(done.stderr.split())
    assert done.returncode != 0 and "libleat_fortran needs gfortran 12 or newer" in said, said
    assert "-DLEAT_FORTRAN=OFF builds Leat without it" in said, said


TESTED_BY = ["-DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_TBB=ON"]


@pytest.mark.parametrize("only, gone", [("demo", [*TESTED_BY, *GONE["LEAT_FORTRAN"]]), ("products", TESTED_BY)])
def test_who_asks_for_less_needs_nothing_that_tests_need(tmp_path, only, gone):
    """`make demo` and `make install`; what is built for them serves `make build` as it is."""
    done = configure(tmp_path, f"-DLEAT_ONLY={only}", *gone)
    assert done.returncode == 0, done.stderr
    left, whole = commands(tmp_path), commands(BUILD)
    assert left <= whole and not [source for source, _ in left if "/tests/" in source], left - whole
    (built,) = re.findall(r"--target (.*)", (ROOT / "Makefile").read_text().partition("\ndemo:")[2].partition("\n\n")[0])
    targets = {"demo": built.split(), "products": ["leat_fortran", "leat_command"]}[only]
    assert "leat_command" in targets and sh("ninja", "-t", "query", *targets, cwd=tmp_path), "its last screen names it"
    done = configure(tmp_path, "-DLEAT_ONLY=", *gone)
    assert done.returncode != 0 and "is not found: " in " ".join(done.stderr.split()), "all is wanted again"

# SPDX-License-Identifier: Apache-2.0
"""An example that has its MPI and Leat from pkg-config, built by make and by Meson against the installed tree; and recipes for others."""
import pathlib
import re
import shutil
import sys
import types

import h5py
import numpy as np
import pytest
from conftest import as_a_user_has_it, sh
from leat_run import same_bits
from test_install import AS_ROOT, EXAMPLES, plate

ROOT = pathlib.Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/install.md").read_text()
COMMANDS = {system: re.search(rf"^With {system}:\n\n```\n(.*?)```", PAGE, re.M | re.S)[1] for system in ("make", "Meson")}


@pytest.mark.parametrize("system, program", [("make", "./heat"), ("Meson", "build/heat")])
def test_the_example_of_heat_is_built_by_the_commands_of_the_page_and_runs(installed, tmp_path, environment, system, program):
    user = as_a_user_has_it(installed, tmp_path, environment)
    work = tmp_path / "heat_c"
    shutil.copytree(EXAMPLES / "heat_c", work)
    sh("bash", "-euc", COMMANDS[system], cwd=work, environment=user)
    sh("mpirun", "--oversubscribe", "-n", 2, program, "heat.xml", 21, cwd=work, environment={**user, **AS_ROOT})
    with h5py.File(work / "heat.h5") as file:
        assert same_bits(file["temperature"][:], np.array([T for i, T in enumerate(plate(21)) if i % 10 == 0]))


class Recipe(types.ModuleType):
    """What Spack gives a recipe: directives, which are noted here."""

    def __init__(self):
        super().__init__("spack.package")
        self.said = []
        for name in ("version", "variant", "depends_on", "conflicts", "license", "generator"):
            setattr(self, name, lambda *words, directive=name, **_: self.said.append((directive, words[0])))

    def all(self, directive):
        return [re.split(r"[@ +~]", word)[0] for name, word in self.said if name == directive]


class CMakePackage:
    def define(self, name, value):
        return f"{name}={value}"

    def define_from_variant(self, name, variant):
        return f"{name}=<{variant}>"


@pytest.fixture()
def recipe(monkeypatch):
    directives, cmake = Recipe(), types.ModuleType("cmake")
    cmake.CMakePackage, cmake.generator = CMakePackage, directives.generator
    for name in ("spack", "spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, "spack.package", directives)
    monkeypatch.setitem(sys.modules, "spack_repo.builtin.build_systems.cmake", cmake)
    file = ROOT / "tools/packages/spack/packages/leat/package.py"
    scope = {"__file__": str(file), "__name__": "leat"}
    exec(compile(file.read_text(), file, "exec"), scope)
    directives.options = scope["Leat"]().cmake_args()
    return directives


def test_the_recipe_of_spack_has_the_options_of_cmake(recipe):
    options = re.findall(r"^(?:cmake_dependent_)?option\((LEAT_\w+)", (ROOT / "cmake/options.cmake").read_text(), re.M)
    parts = set(options) - {"LEAT_STRIP", "LEAT_UNITY"}
    assert {word.split("=")[0] for word in recipe.options} == parts
    assert {word.split("<")[1].strip(">") for word in recipe.options if "<" in word} == set(recipe.all("variant"))


# As Spack calls them.
OF_SPACK = {"CMake, Ninja": "cmake", "GCC": "cxx", "Xerces-C": "xerces-c", "muParser": "muparser", "UDUNITS": "udunits",
            "OpenSSL": "openssl", "libnuma": "numactl", "fmt": "fmt", "ncurses": "ncurses", "Boost's headers": "boost", "CLI11": "cli11",
            "nlohmann-json": "nlohmann-json", "HDF5, serial": "hdf5", "gfortran": "fortran", "MPI": "mpi"}


def test_the_recipe_of_spack_depends_on_what_the_page_says_that_leat_needs(recipe):
    rows = re.search(r"^\| what \|.*?(?=\n\n)", PAGE, re.M | re.S)[0].splitlines()[2:]
    assert {row.split("|")[1].strip() for row in rows} == set(OF_SPACK)
    assert set(OF_SPACK.values()) <= set(recipe.all("depends_on"))


def test_the_container_installs_the_packages_that_are_made(recipe):
    named = set(re.findall(r"/packages/([\w-]+)_\*\.deb", (ROOT / "tools/packages/Containerfile").read_text()))
    made = set(re.findall(r"^Package: (.*)$", (ROOT / "tools/packages/debian/control").read_text(), re.M))
    assert named == made - {"libleat-damaris"}

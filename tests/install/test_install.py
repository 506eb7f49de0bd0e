# SPDX-License-Identifier: Apache-2.0
"""What `make install` leaves is all that a user needs, wherever it lies."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import h5py
import numpy as np
import pytest
from conftest import sh
from leat_run import same_bits

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent / "integration"))
from test_heat import plate  # noqa: E402  the same arithmetic in numpy

EXAMPLES = HERE.parents[1] / "examples"
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic"]


def libdir(installed):
    return next(installed.glob("lib*/**/libleat.so")).parent


def expect_waves(path):
    with h5py.File(path) as file:
        assert same_bits(file["iteration"][:], np.arange(20, dtype="i4"))
        expected = np.array([[step + 0.01 * i for i in range(100)] for step in range(20)])
        assert same_bits(file["wave"][:], expected)
        assert file["wave"].attrs["units"] == b"m"


@pytest.fixture(scope="module")
def built(installed, tmp_path_factory):
    """The consumer project, built by CMake's find_package."""
    build = tmp_path_factory.mktemp("consumer")
    sh("cmake", "-S", HERE / "consumer", "-B", build, f"-DCMAKE_PREFIX_PATH={installed}", cwd=build)
    sh("cmake", "--build", build, cwd=build)
    return build


def test_a_project_that_finds_leat_by_cmake_runs_and_stores(built, tmp_path, environment):
    shutil.copy(HERE / "consumer/first.xml", tmp_path)
    sh(built / "first_leat", cwd=tmp_path, environment=environment)
    expect_waves(tmp_path / "first.h5")


def test_a_project_that_finds_leat_by_pkg_config_runs_and_stores(installed, tmp_path, environment):
    shutil.copy(HERE / "consumer/first.xml", tmp_path)
    lib = libdir(installed)
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "leat"], capture_output=True, text=True, check=True,
                           env={**os.environ, "PKG_CONFIG_PATH": str(lib / "pkgconfig")}).stdout.strip()
    sh("sh", "-c", f"cc {' '.join(STRICT)} '{HERE}/consumer/first.c' {flags} '-Wl,-rpath,{lib}' -o first", cwd=tmp_path)
    sh("./first", cwd=tmp_path, environment=environment)
    expect_waves(tmp_path / "first.h5")


def test_the_stub_links_in_its_place_and_does_nothing(built, tmp_path, environment):
    sh(built / "first_leat_stub", cwd=tmp_path, environment=environment)
    assert not list(tmp_path.iterdir())


def test_leat_off_does_nothing(built, tmp_path, environment):
    sh(built / "first_leat", cwd=tmp_path, environment={**environment, "LEAT": "off"})
    assert not list(tmp_path.iterdir())


def test_a_plugin_built_against_the_installed_headers_is_taken(built, tmp_path, environment):
    xml = (HERE / "consumer/first.xml").read_text()
    mine = '<store name="out" type="hdf5"/><store name="mine" library="./libcount.so"><option name="file" value="n.txt"/></store>'
    (tmp_path / "first.xml").write_text(xml.replace('<store name="out" type="hdf5"/>', mine))
    shutil.copy(built / "libcount.so", tmp_path)
    sh(built / "first_leat", cwd=tmp_path, environment=environment)
    assert (tmp_path / "n.txt").read_text() == "20 iterations, 16000 bytes\n"
    expect_waves(tmp_path / "first.h5")


@pytest.fixture(scope="module")
def examples(installed, tmp_path_factory):
    """The examples, each built alone against the installed tree."""
    build = tmp_path_factory.mktemp("examples")
    for example in ("amr_advection", "heat_c", "heat_openmp", "lammps", "md_tbb", "remap", "shallow_water_fortran"):
        sh("cmake", "-S", EXAMPLES / example, "-B", build / example, f"-DCMAKE_PREFIX_PATH={installed}", cwd=build)
        sh("cmake", "--build", build / example, cwd=build)
    return build


def test_an_mpi_example_that_was_built_alone_runs_and_stores(examples, tmp_path, environment):
    shutil.copy(EXAMPLES / "heat_c/heat.xml", tmp_path)
    sh("mpirun", "--oversubscribe", "-n", 2, examples / "heat_c/heat", "heat.xml", 21, cwd=tmp_path,
       environment={**environment, **AS_ROOT})
    with h5py.File(tmp_path / "heat.h5") as file:
        assert file["iteration"][:].tolist() == [0, 10, 20]
        assert same_bits(file["temperature"][:], np.array([T for i, T in enumerate(plate(21)) if i % 10 == 0]))


def test_an_mpi_example_runs_without_leat_and_leaves_nothing(examples, tmp_path, environment):
    shutil.copy(EXAMPLES / "heat_c/heat.xml", tmp_path)
    sh("mpirun", "--oversubscribe", "-n", 2, examples / "heat_c/heat", "heat.xml", 21, cwd=tmp_path,
       environment={**environment, **AS_ROOT, "LEAT": "off"})
    assert [p.name for p in tmp_path.iterdir()] == ["heat.xml"]


def test_the_library_needs_libc_only_and_shows_leat_names_only(installed):
    for name in ("libleat.so", "libleat_stub.so", "libleat_module.so"):
        library = libdir(installed) / name
        needed = [line.split()[0] for line in sh("ldd", library, cwd="/").splitlines()]
        allowed = ("linux-vdso", "libc.so", "/lib64/ld-linux", "statically", "/lib/ld-linux")
        assert all(n.startswith(allowed) for n in needed), needed
        exported = [line.split()[-1] for line in sh("nm", "-D", "--defined-only", library, cwd="/").splitlines()]
        assert exported and all(n.startswith("leat_") for n in exported), exported


def test_libleat_and_libleat_module_have_no_name_in_common(installed):
    names = [{line.split()[-1] for line in sh("nm", "-D", "--defined-only", libdir(installed) / name, cwd="/").splitlines()}
             for name in ("libleat.so", "libleat_module.so")]
    assert len(names[1]) > 10 and not names[0] & names[1]


def says_that_leat_starts_it(program, environment=None):
    done = subprocess.run([program], capture_output=True, text=True, env={**os.environ, **(environment or {})})
    return "this program is a module of a graph, which Leat starts" in done.stderr


def test_a_module_of_a_graph_is_built_by_cmake_and_needs_nothing_of_libleat(built):
    assert says_that_leat_starts_it(built / "relay")
    assert "libleat.so" not in sh("ldd", built / "relay", cwd="/")


def test_the_modules_of_the_page_are_built_by_its_commands(installed, tmp_path):
    page = (installed / "share/doc/leat/docs/reference/module-api.md").read_text()
    for name, code in re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", page, re.S):
        (tmp_path / name).write_text(code)
    (tmp_path / "leat").symlink_to(installed)  # whose path has a space
    lib = tmp_path / "leat" / libdir(installed).relative_to(installed)
    paths = {"PKG_CONFIG_PATH": str(lib / "pkgconfig"), "LD_LIBRARY_PATH": str(lib)}
    sh("bash", "-euc", re.search(r"<!-- commands -->\n```sh\n(.*?)```", page, re.S)[1], cwd=tmp_path, environment=paths)
    assert all(says_that_leat_starts_it(tmp_path / f"profile_{name}", paths) for name in ("c", "cpp", "fortran"))


def test_the_pages_and_the_examples_that_they_show_are_there(installed):
    doc = installed / "share/doc/leat"
    for page in [doc / "README.md", *(doc / "docs").rglob("*.md")]:
        for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
            assert link.startswith("http") or (page.parent / link).exists(), (page, link)
    assert (doc / "docs/quickstart.md").exists()


def test_the_command_and_the_schema_are_there(installed, tmp_path):
    shutil.copy(HERE / "consumer/first.xml", tmp_path)
    assert "first" in sh(installed / "bin/leat", "check", "first.xml", cwd=tmp_path)
    assert (installed / "share/leat/leat.xsd").exists()
    assert "0.1.0" in sh(installed / "bin/leatd", "--version", cwd=tmp_path)

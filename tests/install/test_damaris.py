# SPDX-License-Identifier: Apache-2.0
"""A code that is written for Damaris finds it in an installed Leat, by each way that there is, and for another MPI it is built alone."""
import os
import pathlib
import shutil
import subprocess

import h5py
import numpy as np
import pytest
from conftest import sh
from leat_run import same_bits

HERE = pathlib.Path(__file__).parent / "damaris"
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}


def runs_and_stores(program, folder, environment, ranks=2):
    shutil.copy(HERE / "rows.xml", folder)
    sh("mpirun", "--oversubscribe", "-n", ranks, program, cwd=folder, environment={**environment, **AS_ROOT})
    for step in range(3):
        with h5py.File(folder / f"rows_It{step}_Pr0.h5") as file:
            for rank in range(ranks):
                assert same_bits(file[f"u/P{rank}"][...], np.array([[100. * step + 10 * rank + i for i in range(10)]]))


def build(folder, prefix, languages):
    sh("cmake", "-S", HERE, "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DLANGUAGES={languages}", f"-DPROGRAM={HERE}/rows.c",
       cwd=HERE)
    sh("cmake", "--build", folder, cwd=HERE)


@pytest.mark.parametrize("languages", ["C;CXX;Fortran", "C", "CXX", "Fortran"])
def test_a_project_finds_it_by_cmake(installed, tmp_path, environment, languages):
    build(tmp_path / "build", installed, languages)
    for language in languages.lower().split(";"):
        runs_and_stores(tmp_path / f"build/rows_{language}", tmp_path, environment)


def test_a_project_finds_it_by_pkg_config(installed, tmp_path, environment):
    lib = next(installed.glob("lib*/**/libdamaris.so")).parent
    asked = {**os.environ, "PKG_CONFIG_PATH": str(lib / "pkgconfig")}
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "damaris"], capture_output=True, text=True, check=True, env=asked).stdout
    version = subprocess.run(["pkg-config", "--modversion", "damaris"], capture_output=True, text=True, check=True, env=asked).stdout
    assert version == "1.9.0\n"
    sh("sh", "-c", f"mpicc -std=c99 -Wall -Wextra -Werror '{HERE}/rows.c' {flags.strip()} '-Wl,-rpath,{lib}' -o rows", cwd=tmp_path)
    runs_and_stores("./rows", tmp_path, environment)


def test_it_is_built_alone_for_another_mpi(installed, tmp_path, environment):
    """From the installed sources, against the installed Leat."""
    sources, own = installed / "share/leat/damaris-api", tmp_path / "own"
    sh("cmake", "-S", sources, "-B", tmp_path / "b", f"-DCMAKE_PREFIX_PATH={installed}", f"-DCMAKE_INSTALL_PREFIX={own}", cwd=tmp_path)
    sh("cmake", "--build", tmp_path / "b", "--target", "install", cwd=tmp_path)
    build(tmp_path / "build", f"{own};{installed}", "C")
    lib = next(own.glob("lib*/**/libdamaris.so")).parent
    linked = sh("ldd", tmp_path / "build/rows_c", cwd=tmp_path)
    assert str(lib) in linked
    runs_and_stores(tmp_path / "build/rows_c", tmp_path, environment)


def test_a_simulation_gets_mpi_and_leat_with_it_and_nothing_else(installed):
    library = next(installed.glob("lib*/**/libdamaris.so"))
    needed = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
    names = {line.split("[")[1].rstrip("]") for line in needed.splitlines() if "(NEEDED)" in line}
    assert {name.split(".so")[0] for name in names} <= {"libleat", "libmpi", "libc", "libm", "ld-linux-x86-64", "libpthread"}

# SPDX-License-Identifier: Apache-2.0
"""docs/how-to/add-to-fortran.md: its XML and its calls, put into a program that did not know Leat, built in both ways."""
import os
import pathlib
import re

import h5py
import numpy as np
import pytest
from conftest import sh

PAGE = (pathlib.Path(__file__).parents[2] / "docs/how-to/add-to-fortran.md").read_text()
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}


def flow_with_the_calls_of_the_page():
    calls = re.search(r"```fortran\n(.*?)```", PAGE, re.S)[1]
    uses, body = calls.split("\n\n", 1)
    return f"""program flow
  use mpi_f08
  {uses}
  implicit none
  integer, parameter :: nx = 128, ny = 64, steps = 20
  integer :: step, x, y, stat
  real(8) :: u(0:nx+1, 0:ny+1)
  call MPI_Init()
  do y = 0, ny + 1
    do x = 0, nx + 1
      u(x, y) = 1000 * x + y
    end do
  end do
  {body.replace("...", "u = u + 1")}
  call MPI_Finalize()
end program
"""


def by_cmake(snippet, folder, installed):
    """The page's lines in a project, which knows of MPI already."""
    head = "cmake_minimum_required(VERSION 3.20)\nproject(flow LANGUAGES Fortran C)\nfind_package(MPI REQUIRED COMPONENTS Fortran)\n"
    (folder / "CMakeLists.txt").write_text(head + snippet)
    sh("cmake", "-S", ".", "-B", "made", f"-DCMAKE_PREFIX_PATH={installed}", cwd=folder)
    said = sh("cmake", "--build", "made", "--verbose", cwd=folder)
    if "FortranSource" in snippet:
        assert "leat.f90" in said and "leat_fortran.c" in said and f"-I{installed}/include/leat/fortran" not in said
    (folder / "made/flow").rename(folder / "flow")


@pytest.fixture(params=["with the installed module", "with the installed sources", "with CMake", "with CMake and the sources"])
def flow(request, installed, tmp_path):
    (tmp_path / "flow.f90").write_text(flow_with_the_calls_of_the_page())
    (tmp_path / "flow.xml").write_text(re.search(r"```xml\n(.*?)```", PAGE, re.S)[1])
    lib = next(installed.glob("lib*/**/libleat.so")).parent
    if request.param == "with the installed module":
        command = re.search(r"mpif90.*?-o flow", PAGE, re.S)[0].replace("\\\n", " ")
        (tmp_path / "prefix").symlink_to(installed)
        sh("sh", "-c", command, cwd=tmp_path, environment={"PREFIX": str(tmp_path / "prefix")})
    elif request.param == "with the installed sources":
        (tmp_path / "prefix").symlink_to(installed)
        commands = re.search(r"( +cc -c .*\n +mpif90 .*\n.*-o flow)", PAGE)[0].replace("\\\n", " ")
        sh("sh", "-ec", commands, cwd=tmp_path, environment={"PREFIX": str(tmp_path / "prefix")})
    else:
        snippets = re.findall(r"```cmake\n(.*?)```", PAGE, re.S)
        by_cmake(snippets["sources" in request.param], tmp_path, installed)
    return tmp_path, lib


def test_the_page_alone_makes_a_code_write(flow, environment):
    folder, lib = flow
    sh("./flow", cwd=folder, environment={**environment, **MPI, "LD_LIBRARY_PATH": str(lib)})
    with h5py.File(folder / "flow.h5") as file:
        y, x = np.mgrid[1:65, 1:129]
        assert file["iteration"][:].tolist() == [0, 10] and file["u"].attrs["units"] == b"m/s"
        for row, step in enumerate((1, 11)):
            assert (file["u"][row] == 1000 * x + y + step).all()


def test_the_code_of_the_page_runs_without_leat_too(flow, environment):
    folder, lib = flow
    before = set(folder.iterdir())
    sh("./flow", cwd=folder, environment={**environment, **MPI, "LD_LIBRARY_PATH": str(lib), "LEAT": "off"})
    assert set(folder.iterdir()) == before

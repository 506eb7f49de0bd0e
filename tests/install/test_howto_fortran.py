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


@pytest.fixture(params=["with the installed module", "with the installed sources"])
def flow(request, installed, tmp_path):
    (tmp_path / "flow.f90").write_text(flow_with_the_calls_of_the_page())
    (tmp_path / "flow.xml").write_text(re.search(r"```xml\n(.*?)```", PAGE, re.S)[1])
    lib = next(installed.glob("lib*/**/libleat.so")).parent
    sources = installed / "include/leat/fortran"
    if request.param == "with the installed module":
        command = re.search(r"mpif90.*?-o flow", PAGE, re.S)[0].replace("\\\n", " ")
        (tmp_path / "prefix").symlink_to(installed)
        sh("sh", "-c", command, cwd=tmp_path, environment={"PREFIX": str(tmp_path / "prefix")})
    else:
        sh("cc", "-c", sources / "leat_fortran.c", f"-I{installed}/include", cwd=tmp_path)
        sh("mpif90", sources / "leat.f90", sources / "leat_mpi.f90", "flow.f90", "leat_fortran.o", f"-I{sources}",
           f"-L{lib}", "-lleat", "-o", "flow", cwd=tmp_path)
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

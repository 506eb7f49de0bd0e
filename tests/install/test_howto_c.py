# SPDX-License-Identifier: Apache-2.0
"""docs/how-to/add-to-c.md, followed word by word: its program in C, its program in C++, and the lines for a server among the ranks."""
import pathlib
import re

import h5py
import numpy as np
import pytest
from conftest import as_a_user_has_it, sh

PAGE = (pathlib.Path(__file__).parents[2] / "docs/how-to/add-to-c.md").read_text()
FILES = dict(re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", PAGE, re.S))
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


@pytest.fixture
def folder(installed, tmp_path, environment):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path, {**as_a_user_has_it(installed, tmp_path, environment), **MPI}


def expect_plate(path):
    with h5py.File(path) as file:
        y = np.arange(60)[:, None] + np.zeros(40)
        assert file["T"].shape == (5, 60, 40) and file["iteration"][:].tolist() == [0, 10, 20, 30, 40]
        for row, step in enumerate(range(0, 50, 10)):
            assert np.allclose(file["T"][row], 300 + step + 0.01 * y, atol=1e-12, rtol=0)
        assert np.allclose(file["y"][:2], [0.005, 0.015]) and np.allclose(file["time"][:], [0, 1, 2, 3, 4])


def test_every_command_of_the_page_works_and_both_programs_write_the_plate(folder):
    folder, environment = folder
    in_c, in_cpp = [part for part in re.split(r"(?m)^## 4", PAGE)]
    for part in (in_c, in_cpp):
        said = sh("bash", "-euc", "".join(re.findall(r"```sh\n(.*?)```", part, re.S)), cwd=folder, environment=environment)
        assert "nothing lost" in said
        expect_plate(folder / "plate.h5")
        (folder / "plate.h5").unlink()


def test_an_error_of_the_xml_is_printed_once_and_all_ranks_return(folder):
    folder, environment = folder
    (folder / "plate.xml").write_text(FILES["plate.xml"].replace('layout="cells"', 'layout="cell"'))
    build, _ = re.search(r"(mpicc .*)\n(mpirun .*)", PAGE).groups()
    said = sh("bash", "-uc", f"{build} && ! mpirun -n 2 ./plate 2>&1", cwd=folder, environment=environment)
    line = 1 + FILES["plate.xml"][:FILES["plate.xml"].index('layout="cells"')].count("\n")
    assert said.count('did you mean "cells"?') == 1 and f"plate.xml:{line}:" in said


@pytest.mark.parametrize("place", ["process", "ranks"])
def test_the_lines_for_a_server_among_the_ranks_do_for_both_places(folder, place):
    folder, environment = folder
    (split,) = re.findall(r"```c\n(MPI_Comm simulation;.*?)```", PAGE, re.S)
    code = FILES["plate.c"].replace("MPI_COMM_WORLD", "simulation").replace("  MPI_Comm_rank(", split + "  MPI_Comm_rank(", 1)
    (folder / "plate.c").write_text(code)
    xml = FILES["plate.xml"].replace("<buffer", f'<dedicated cores="1" place="{place}"/><buffer')
    (folder / "plate.xml").write_text(xml)
    build = re.search(r"mpicc .*", PAGE)[0]
    sh("bash", "-euc", f"{build}\nmpirun -n {3 if place == 'ranks' else 2} ./plate", cwd=folder, environment=environment)
    expect_plate(folder / "plate.h5")


def test_the_lines_for_cmake_build_it(folder, installed):
    folder, environment = folder
    lines = re.search(r"```cmake\n(.*?)```", PAGE, re.S)[1]
    (folder / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(plate LANGUAGES C)\n" + lines)
    sh("cmake", "-S", ".", "-B", "b", f"-DCMAKE_PREFIX_PATH={installed}", cwd=folder, environment=environment)
    sh("cmake", "--build", "b", cwd=folder, environment=environment)
    sh("mpirun", "-n", 2, "b/plate", cwd=folder, environment=environment)
    expect_plate(folder / "plate.h5")

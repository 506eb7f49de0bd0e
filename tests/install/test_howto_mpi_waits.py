# SPDX-License-Identifier: Apache-2.0
"""docs/how-to/mpi-waits.md, followed word by word."""
import os
import pathlib
import re

import h5py
from conftest import sh

PAGE = (pathlib.Path(__file__).parents[2] / "docs/how-to/mpi-waits.md").read_text()
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}


def test_the_program_of_the_page_is_analysed_while_it_waits_preloaded_and_linked(installed, tmp_path, environment):
    for name, text in re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", PAGE, re.S):
        (tmp_path / name).write_text(text)
    (tmp_path / "leat").symlink_to(installed)
    lib = tmp_path / "leat" / next(installed.glob("lib*/**/libleat.so")).parent.relative_to(installed)
    for commands in re.findall(r"```sh\n(.*?)```", PAGE, re.S):
        said = sh("bash", "-euc", commands, cwd=tmp_path, environment={
            **environment, **AS_ROOT, "PKG_CONFIG_PATH": str(lib / "pkgconfig"), "LD_LIBRARY_PATH": str(lib)})
        phases = r'store "stats": ranks idled for \S+ s in (\d+) phases'
        assert re.search(phases, said)[1] == re.search(phases, PAGE)[1], said
        with h5py.File(tmp_path / "waits.h5") as file:
            assert file["products/stats/iteration"][:].tolist() == list(range(50))
            assert file["products/stats/T_min"][:].tolist() == list(range(50))
        (tmp_path / "waits.h5").unlink()

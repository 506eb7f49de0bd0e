# SPDX-License-Identifier: Apache-2.0
"""docs/how-to/coming-from-hdf5.md and coming-from-adios2.md: their programs are built and run as they stand there, and the last lines
print what stands behind them."""
import pathlib
import sys

import pytest
from test_recipes import AFTERWARDS, COMMANDS, PRINTS, SAVED, prepared, run

PAGES = pathlib.Path(__file__).parents[2] / "docs/how-to"
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


@pytest.mark.parametrize("page", ["coming-from-hdf5.md", "coming-from-adios2.md"])
def test_the_programs_of_the_page_write_what_it_says(tmp_path, page):
    text = (PAGES / page).read_text().partition("\n## Keep your calls")[0]  # that part is for tests/install/test_adios2.py
    environment = {**prepared(tmp_path), **MPI}
    for name, code in SAVED.findall(text):
        (tmp_path / name).write_text(code)
    (commands,), (after,) = COMMANDS.findall(text), AFTERWARDS.findall(text)
    run(["bash", "-euc", commands], tmp_path, environment)
    assert run([sys.executable, "-c", after], tmp_path, environment).stdout.splitlines() == PRINTS.findall(after)

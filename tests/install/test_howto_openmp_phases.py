# SPDX-License-Identifier: Apache-2.0
"""docs/how-to/openmp-phases.md, followed word by word."""
import pathlib
import re
import textwrap

import h5py
import numpy as np
from conftest import sh

ROOT = pathlib.Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/openmp-phases.md").read_text()


def test_the_program_of_the_page_is_analysed_in_its_serial_phases(installed, tmp_path, environment):
    for name, text in re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", PAGE, re.S):
        (tmp_path / name).write_text(text)
    (tmp_path / "leat").symlink_to(installed)
    lib = tmp_path / "leat" / next(installed.glob("lib*/**/libleat.so")).parent.relative_to(installed)
    (commands,) = re.findall(r"```sh\n(.*?)```", PAGE, re.S)
    said = sh("bash", "-euc", commands, cwd=tmp_path, environment={
        **environment, "PKG_CONFIG_PATH": str(lib / "pkgconfig"), "LD_LIBRARY_PATH": str(lib)})
    phases = r'store "stats": ranks idled for \S+ s in (\d+) phases'
    assert re.search(phases, said)[1] == re.search(phases, PAGE)[1], said
    with h5py.File(tmp_path / "phases.h5") as file:
        assert file["products/stats/iteration"][:].tolist() == list(range(50))
        T = file["T"][:]
        assert file["products/stats/T_min"][::10].tobytes() == T.min(axis=1).tobytes()
        assert file["products/stats/T_max"][::10].tobytes() == T.max(axis=1).tobytes()
        assert T.shape == (5, 1000000) and np.isfinite(T).all()


def test_what_the_page_shows_of_the_example_is_there():
    example = (ROOT / "examples/heat_openmp/heat_openmp.c").read_text()
    shown = re.findall(r"```c\n(.*?)```", PAGE, re.S)[-1]
    assert textwrap.dedent(re.search(r"/\* region idle \*/\n(.*?) */\* end region", example, re.S)[1]) == shown

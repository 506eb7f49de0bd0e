# SPDX-License-Identifier: Apache-2.0
"""docs/how-to/add-to-cpp.md, followed word by word."""
import os
import pathlib
import re

import h5py
import numpy as np
from conftest import sh

PAGE = (pathlib.Path(__file__).parents[2] / "docs/how-to/add-to-cpp.md").read_text()
FILES = dict(re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", PAGE, re.S))


def run(installed, folder, environment, flags=""):
    for name, text in FILES.items():
        (folder / name).write_text(text)
    prefix = folder / "leat"
    prefix.symlink_to(installed)  # whose name has a blank
    lib = prefix / next(installed.glob("lib*/**/libleat.so")).parent.relative_to(installed)
    (folder / "bin").mkdir()
    (folder / "bin/python3").symlink_to("/usr/bin/python3")  # the distribution's has h5py
    path = f"{folder}/bin:{prefix}/bin:{os.environ['PATH']}"
    (commands,) = re.findall(r"```sh\n(.*?)```", PAGE, re.S)
    return sh("bash", "-euc", commands.replace("-std=c++17", f"-std=c++17 {flags}"), cwd=folder, environment={
        **environment, "PATH": path, "PKG_CONFIG_PATH": str(lib / "pkgconfig"), "LD_LIBRARY_PATH": str(lib)})


def test_the_program_of_the_page_writes_what_it_says(installed, tmp_path, environment):
    said = run(installed, tmp_path, environment, "-Wall -Wextra -Werror")
    assert "nothing lost" in said and "probe" in said
    steps = np.arange(0, 50, 10)
    field = 300 + 0.1 * steps[:, None, None] + 0.01 * np.arange(30)[None, :, None] + np.zeros((1, 1, 20))
    with h5py.File(tmp_path / "rod.h5") as file:
        assert file["iteration"][:].tolist() == steps.tolist()
        assert np.allclose(file["T"][:], field, rtol=0, atol=1e-12) and file["T"].attrs["units"] == b"K"
        assert np.allclose(file["probe"][:], field[:, [0, 15, 29], [0, 10, 19]], rtol=1e-6)
        assert file["hot"][:].ravel().tolist() == (file["T"][:] > 305).sum(axis=(1, 2)).tolist()

# SPDX-License-Identifier: Apache-2.0
"""docs/how-to/add-to-cpp.md, followed word by word."""
import pathlib
import re

import h5py
import numpy as np
from conftest import as_a_user_has_it, sh

PAGE = (pathlib.Path(__file__).parents[2] / "docs/how-to/add-to-cpp.md").read_text()
FILES = dict(re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", PAGE, re.S))


def run(installed, folder, environment, flags=""):
    for name, text in FILES.items():
        (folder / name).write_text(text)
    (commands,) = re.findall(r"```sh\n(.*?)```", PAGE, re.S)
    return sh("bash", "-euc", commands.replace("-std=c++17", f"-std=c++17 {flags}"), cwd=folder,
              environment=as_a_user_has_it(installed, folder, environment))


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

# SPDX-License-Identifier: Apache-2.0
"""docs/quickstart.md, followed word by word."""
import os
import pathlib
import re

import h5py
import numpy as np
from conftest import sh

ROOT = pathlib.Path(__file__).parents[2]
PAGE = (ROOT / "docs/quickstart.md").read_text()


def test_every_command_of_the_quickstart_works_and_the_file_is_as_it_says(installed, tmp_path, environment):
    for name, text in re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", PAGE, re.S):
        (tmp_path / name).write_text(text)
    commands = "".join(re.findall(r"```sh\n(.*?)```", PAGE, re.S))
    (tmp_path / "leat").symlink_to(installed)
    said = sh("bash", "-euc", commands, cwd=tmp_path, environment={
        **environment, "HOME": str(tmp_path), "PATH": f"/usr/bin:{os.environ['PATH']}"})  # the distribution's python3 has h5py
    assert "(10, 200) m" in said and "(10, 200) m" in PAGE
    assert "nothing lost" in said
    (off,) = re.findall(r"`(LEAT=off [^`]+)`", PAGE)
    for made in tmp_path.glob("wave.h5"):
        made.rename(tmp_path / "kept.h5")
    sh("bash", "-euc", "export LD_LIBRARY_PATH=$HOME/leat/lib; " + off, cwd=tmp_path, environment={"HOME": str(tmp_path)})
    assert not (tmp_path / "wave.h5").exists()
    with h5py.File(tmp_path / "kept.h5") as file:
        assert file["iteration"][:].tolist() == list(range(0, 100, 10))
        assert np.allclose(file["height"][3], np.sin(0.1 * np.arange(200) - 0.05 * 30), atol=1e-12)

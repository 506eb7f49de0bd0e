# SPDX-License-Identifier: Apache-2.0
"""docs/how-to/coming-from-damaris.md, followed word by word, with an installed Leat."""
import os
import pathlib
import re

import h5py
import numpy as np
from conftest import sh

PAGE = (pathlib.Path(__file__).parents[2] / "docs/how-to/coming-from-damaris.md").read_text()
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}


def test_each_step_of_the_page(installed, tmp_path, environment):
    for name, text in re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", PAGE, re.S):
        (tmp_path / name).write_text(text)
    (tmp_path / "leat").symlink_to(installed)
    said = sh("bash", "-euc", "".join(re.findall(r"```sh\n(.*?)```", PAGE, re.S)), cwd=tmp_path, environment={
        **environment, **AS_ROOT, "OMPI_MCA_rmaps_base_oversubscribe": "1", "HOME": str(tmp_path),
        "PATH": f"/usr/bin:{os.environ['PATH']}"})  # the distribution's python3 has h5py
    assert re.search(r"means +\(for Damaris\) +temperature +every 2 iterations", said), said
    clients = len(re.findall(r"^in the file: P\d", said, re.M))
    rows = 60 // clients
    for rank in range(clients):
        assert f"in the file: P{rank} ({rows}, 64) b'K' {200. + rank * rows}" in said
    means = [(i, r, 100 * i + r * rows + (rows - 1) / 2) for i in (0, 2) for r in range(clients)]
    for iteration, rank, mean in means:
        assert f"iteration {iteration} block P{rank}_B0 mean {mean}" in said
    assert all(f"plate_It{i}_Pr0.h5" in said for i in range(4)) and "temperature" in said
    whole = np.array([[[100. * i + y] * 64 for y in range(60)] for i in range(4)])
    with h5py.File(tmp_path / "output/plate.h5") as file:
        assert np.array_equal(file["temperature"][...], whole)
    for i in range(4):
        with h5py.File(tmp_path / f"output/plate_It{i}_Pr0.h5") as file:
            assert np.array_equal(np.concatenate([file[f"temperature/P{r}"] for r in range(clients)]), whole[i])

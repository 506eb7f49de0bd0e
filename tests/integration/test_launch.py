# SPDX-License-Identifier: Apache-2.0
"""A simulation that `leat launch --run` has started, and where its server is."""
import json
import os
import pathlib
import shutil
import subprocess

import pytest
from leat_run import BUILD, LIMIT

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "heat_c"
CPUS = len(os.sched_getaffinity(0))


@pytest.mark.skipif(CPUS < 2, reason="a core for a rank and one for the server are needed")
def test_the_server_has_the_core_that_the_line_leaves(tmp_path):
    shutil.copy(EXAMPLE / "heat.xml", tmp_path)
    environment = {**os.environ, "LEAT_RUNTIME_DIR": str(tmp_path / "r")}
    if os.geteuid() == 0:
        environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    placed = [BUILD / "bin/leat", "placement", "--xml", "heat.xml", "--ranks", "1", "--json"]
    wanted = json.loads(subprocess.run(placed, cwd=tmp_path, capture_output=True, check=True).stdout)["server"]
    words = [BUILD / "bin/leat", "launch", "heat.xml", "-n", "1", "--launcher", "openmpi", "--run", "--",
             BUILD / "bin/heat", "heat.xml", "41"]
    done = subprocess.run(words, cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=2 * LIMIT)
    assert done.returncode == 0, done.stdout + done.stderr
    noted = json.loads((tmp_path / "heat.ledger.json").read_text())["placement"]
    assert wanted["pinned"] and noted["server"].startswith(("core ", "cores ")) and noted["warnings"] == []
    assert noted["server"].split(",")[0].split(" ", 1)[1] == wanted["cpus"], noted

# SPDX-License-Identifier: Apache-2.0
"""An installed tree, for all tests of this folder."""
import os
import subprocess

import pytest
from leat_run import BUILD


def sh(*words, cwd, environment=None, limit=300):
    done = subprocess.run([str(w) for w in words], cwd=cwd, env={**os.environ, **(environment or {})},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=limit)
    assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """The project, installed and then moved elsewhere: nothing in it may know where it was."""
    first = tmp_path_factory.mktemp("installed") / "first"
    sh("cmake", "--install", BUILD, "--prefix", first, cwd=BUILD)
    moved = first.parent / "moved here"
    first.rename(moved)
    return moved


@pytest.fixture()
def environment(tmp_path):
    return {"LEAT_RUNTIME_DIR": str(tmp_path / "r")}

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


def as_a_user_has_it(installed, folder, environment):
    """The environment of somebody who has put Leat into `folder`/leat and named it in PATH and pkg-config."""
    prefix = folder / "leat"
    prefix.symlink_to(installed)  # whose name has a blank
    lib = prefix / next(installed.glob("lib*/**/libleat.so")).parent.relative_to(installed)
    (folder / "bin").mkdir()
    (folder / "bin/python3").symlink_to("/usr/bin/python3")  # the distribution's has h5py
    return {**environment, "PATH": f"{folder}/bin:{prefix}/bin:{os.environ['PATH']}", "PKG_CONFIG_PATH": str(lib / "pkgconfig"),
            "LD_LIBRARY_PATH": str(lib)}

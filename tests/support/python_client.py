# SPDX-License-Identifier: Apache-2.0
"""The Python package as users have it: installed by pip against an installed Leat."""
import os
import pathlib
import shutil
import subprocess
import sys

from leat_run import BUILD

ROOT = pathlib.Path(__file__).resolve().parents[2]


def sh(*words, cwd, **environment):
    done = subprocess.run([str(w) for w in words], cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=300)
    assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def installed(base):
    """The interpreter of a fresh environment that has the package, in the folder `base`; beside it, in leat/bin, the command."""
    sh("cmake", "--install", BUILD, "--prefix", base / "leat", cwd=BUILD)
    shutil.copytree(ROOT / "python-plugins", base / "source")
    sh(sys.executable, "-m", "venv", "--system-site-packages", base / "venv", cwd=base)
    found = next((base / "leat").glob("lib*/**/leat.pc")).parent
    sh(base / "venv/bin/pip", "install", "--no-build-isolation", "--no-deps", base / "source", cwd=base, PKG_CONFIG_PATH=str(found))
    return base / "venv/bin/python"

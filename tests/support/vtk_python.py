# SPDX-License-Identifier: Apache-2.0
"""A Python with VTK from PyPI, in a virtual environment outside of the repository that is kept between test runs.
As a program: makes it when it is not there, and prints its interpreter. tools/setup does that."""
import fcntl
import os
import pathlib
import subprocess
import sys

PACKAGES = ["vtk==9.7.2", "numpy"]
HOME = pathlib.Path(os.environ.get("LEAT_VTK", pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
                                   / "leat" / PACKAGES[0].replace("==", "-")))


def vtk_python():
    python, done = HOME / "bin/python", HOME / "installed"
    if done.exists():
        return python
    HOME.parent.mkdir(parents=True, exist_ok=True)
    with open(HOME.parent / f".{HOME.name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run beside each other
        if not done.exists():
            subprocess.run(["/usr/bin/python3", "-m", "venv", "--clear", HOME], check=True, stdout=sys.stderr)
            subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True, stdout=sys.stderr)
            done.touch()
    return python


if __name__ == "__main__":
    print(vtk_python())

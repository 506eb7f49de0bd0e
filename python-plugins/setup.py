# SPDX-License-Identifier: Apache-2.0
"""Builds leat._core against the Leat that pkg-config finds; see pyproject.toml for the rest."""
import os
import shlex
import subprocess
import sys

import setuptools
from pybind11.setup_helpers import Pybind11Extension, build_ext


def pkg_config(what):
    asked = subprocess.run(["pkg-config", what, "leat"], capture_output=True, text=True)
    if asked.returncode != 0:
        sys.exit(f"{asked.stderr}Leat is not found: set PKG_CONFIG_PATH to the pkgconfig folder of where it is installed")
    return shlex.split(asked.stdout)


libraries = [os.path.realpath(word[2:]) for word in pkg_config("--libs-only-L")]
# Packages move what is built here: they say where libleat will be, or, empty, that the linker finds it by itself.
found_at = [os.environ["LEAT_RPATH"]] if os.environ.get("LEAT_RPATH") else [] if "LEAT_RPATH" in os.environ else libraries
core = Pybind11Extension("leat._core", ["leat/_core.cpp"], cxx_std=17, extra_compile_args=pkg_config("--cflags"),
                         library_dirs=libraries, runtime_library_dirs=found_at, libraries=["leat"])
setuptools.setup(ext_modules=[core], cmdclass={"build_ext": build_ext})

# SPDX-License-Identifier: Apache-2.0
"""Programs of the bench, and what is not there."""

import functools
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("LEAT_BUILD", ROOT / "build"))
SYSTEM_PYTHON = sys.executable
_PYTHON_JOB = ROOT / "tests/bench/job/python/job.py"


class Missing(Exception):
    """Why something cannot be measured here."""


def job_program(name):
    """The start of the command of one of a C++ job's methods."""

    def command(method):
        if method not in _methods_of(name):
            raise Missing("not built: its library was not there when CMake ran")
        return [BUILD / "bin" / name]

    return command


@functools.cache
def _methods_of(name):
    program = BUILD / "bin" / name
    return (
        subprocess.run([program, "methods"], capture_output=True, text=True).stdout.split() if program.exists() else []
    )


def debian_python():
    return lambda method: _python_job(SYSTEM_PYTHON, "mpi4py, numpy")


def adios2_python():
    return lambda method: _python_job(adios2_interpreter(), "adios2, mpi4py, numpy")


@functools.cache
def adios2_interpreter():
    """That of the environment which make bench made."""
    made = subprocess.run(
        [ROOT / "tools/python_environment", "--made", ROOT / "tools/bench.txt"], capture_output=True, text=True
    )
    if made.returncode != 0:
        raise Missing("tools/python_environment tools/bench.txt has not installed adios2 of PyPI")
    return made.stdout.strip() + "/bin/python"


@functools.cache
def _python_job(interpreter, modules):
    if subprocess.run([interpreter, "-c", f"import {modules}"], capture_output=True).returncode != 0:
        raise Missing(f"{interpreter} cannot import {modules}")
    return [interpreter, "-B", _PYTHON_JOB]

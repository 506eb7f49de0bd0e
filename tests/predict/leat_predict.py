# SPDX-License-Identifier: Apache-2.0
"""The command `leat predict`, for tests of it."""
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
LEAT = pathlib.Path(os.environ.get("LEAT_BUILD", ROOT / "build")) / "bin/leat"


def said(*words, cwd=None, code=0, python=sys.executable):
    """What it prints, or complains about."""
    done = subprocess.run([LEAT, "predict", *map(str, words), "--interpreter", python], capture_output=True, text=True, cwd=cwd,
                          timeout=120, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    assert done.returncode == code, done
    return done.stdout if code == 0 else done.stderr


def rows(*words, cwd=None):
    return json.loads(said(*words, "--json", cwd=cwd))["rows"]


def slowdown(*words):
    (row,) = rows(*words)
    return row["slowdown"]

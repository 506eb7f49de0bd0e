# SPDX-License-Identifier: Apache-2.0
"""Runs an example under mpirun, as a user would."""
import os
import subprocess
import sys

from leat_run import BUILD, LIMIT


def mpirun(ranks, program, *arguments, cwd, limit=2 * LIMIT):
    # Scripts run under the python3 of PATH, as a user's would: this one, which has what they import.
    path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    environment = {**os.environ, "LEAT_RUNTIME_DIR": str(cwd / "r"), "PATH": path}
    if os.geteuid() == 0:
        environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    words = ["mpirun", "--oversubscribe", "-n", str(ranks), str(BUILD / "bin" / program), *map(str, arguments)]
    done = subprocess.run(words, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=limit)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr

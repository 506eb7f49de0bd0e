# SPDX-License-Identifier: Apache-2.0
"""Dask's own scheduler as users start it, and clients of it."""
import json

from control_run import wait_until
from warm_python import warm

_SCHEDULER = "from distributed.cli.dask_scheduler import main\nmain()"


def dask_of(python):
    """The Python that answers with dask and distributed."""
    return warm(python, "distributed", "distributed.cli.dask_scheduler")


def start_scheduler(python, file):
    """Its process; it is on this machine's loopback, and listens."""
    words = ["--scheduler-file", file, "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    process = dask_of(python).start(_SCHEDULER, *words, cwd=file.parent)
    wait_until(lambda: is_whole(file), "the file of the scheduler")
    return process


def is_whole(file):
    try:
        return bool(json.loads(file.read_text()))
    except (FileNotFoundError, json.JSONDecodeError):
        return False

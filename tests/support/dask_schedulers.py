# SPDX-License-Identifier: Apache-2.0
"""Dask's own scheduler as users start it, and clients of it."""
from leat_run import await_file
from warm_python import warm

_SCHEDULER = "from distributed.cli.dask_scheduler import main\nmain()"


def dask_of(python):
    """The Python that answers with dask and distributed."""
    return warm(python, "distributed", "distributed.cli.dask_scheduler")


def start_scheduler(python, file):
    """Its process; it is on this machine's loopback, and listens."""
    words = ["--scheduler-file", file, "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    process = dask_of(python).start(_SCHEDULER, *words, cwd=file.parent)
    await_file(file)
    return process

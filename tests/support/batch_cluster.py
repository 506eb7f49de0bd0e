# SPDX-License-Identifier: Apache-2.0
"""What clusters of batch systems have in common that are this machine, under a test's control."""
import time

from leat_run import LIMIT

NODES = ("node0", "node1")


def wait_for(what, done):
    until = time.monotonic() + 2 * LIMIT
    while not (found := done()):
        assert time.monotonic() < until, what
        time.sleep(0.05)
    return found

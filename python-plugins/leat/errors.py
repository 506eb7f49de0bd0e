# SPDX-License-Identifier: Apache-2.0
"""What calls of a simulation in Python fail with."""
from . import _core


def last_error():
    """The message of this thread's last call that failed."""
    return _core.last_error()


def status_name(status):
    """"LEAT_ERROR_FULL" for -8."""
    return _core.status_name(status)


class Error(RuntimeError):
    """What a call failed with; `status` is "LEAT_ERROR_SHAPE", for example."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


def check(status):
    """`status`, when it is no error; else raises Error."""
    if status < 0:
        raise Error(status_name(status), last_error())
    return status

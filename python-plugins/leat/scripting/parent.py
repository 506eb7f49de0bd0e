# SPDX-License-Identifier: Apache-2.0
"""What a process has to do with the one that started it."""
import ctypes
import signal

_PR_SET_PDEATHSIG = 1


def die_with_parent():
    """From now on: a parent that died before this is not noticed."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def outlive_warnings():
    """Batch systems send their warnings to all processes of a job. leatd says when this one ends; what it starts takes them as ever."""
    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(each, lambda *_: None)

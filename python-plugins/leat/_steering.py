# SPDX-License-Identifier: Apache-2.0
"""What a parameter is now: the last of the XML's value, what this rank has set, and what was steered on the server. A steered
value holds from the same iteration on for all ranks of a node, and is there when end_iteration has returned.

Part of `leat.client`, which loads it."""
from . import _core
from .client import _check


def _given(answer, default):
    status, value = answer
    _check(status)
    return default if value is None else value


def get_int(parameter, default=None):
    """The value of an integer parameter in this rank's current iteration; `default` with LEAT=off."""
    return _given(_core.get_int(parameter), default)


def get_double(parameter, default=None):
    """The value of a floating-point or integer parameter in this rank's current iteration; `default` with LEAT=off."""
    return _given(_core.get_double(parameter), default)


def get_string(parameter, default=None):
    """The value of a text parameter in this rank's current iteration; `default` with LEAT=off."""
    return _given(_core.get_string(parameter), default)

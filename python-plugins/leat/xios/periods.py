# SPDX-License-Identifier: Apache-2.0
"""Durations of XIOS, like "5d", "1ts" or "2h30mi", as periods of Leat."""

import re
from fractions import Fraction

_PART = re.compile(r"\s*([+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)\s*(y|mo|d|h|mi|s|ts)\s*")
_SECONDS = {"d": 86400, "h": 3600, "mi": 60, "s": 1}
_WORDS = (("d", "d"), ("h", "h"), ("mi", "min"), ("s", "s"))
_MONTHS = {"y": 12, "mo": 1}


class NoPeriod(ValueError):
    """Why a text is no duration, or none that Leat has."""


def period(text):
    """("6 h", 21600) of "6h": as every="..." has it, and its length, by which periods are compared: in seconds, in months as
    "mo", in time steps as "ts"."""
    parts = _parts(text)
    if "ts" in parts:
        if len(parts) > 1 or parts["ts"].denominator != 1:
            raise NoPeriod("time steps and times together are no period of Leat")
        return str(parts["ts"]), ("ts", parts["ts"])
    months = sum(parts[unit] * factor for unit, factor in _MONTHS.items() if unit in parts)
    seconds = sum(parts[unit] * factor for unit, factor in _SECONDS.items() if unit in parts)
    if months and seconds or months.denominator != 1:
        raise NoPeriod("months and times that are shorter together are no period of Leat")
    if months:
        return (f"{months // 12} y" if months % 12 == 0 else f"{months} mo"), ("mo", months)
    for unit, word in _WORDS:
        if seconds % _SECONDS[unit] == 0:
            return f"{seconds // _SECONDS[unit]} {word}", ("s", seconds)
    return f"{_decimal(seconds)} s", ("s", seconds)


def _parts(text):
    parts, at = {}, 0
    while at < len(text.strip()) or not parts:
        found = _PART.match(text, at)
        if not found:
            raise NoPeriod(f'"{text}" is no duration; expected one like "6h", "1mo" or "1ts"')
        if found[2] in parts:
            raise NoPeriod(f'"{text}" has two numbers of {found[2]}')
        parts[found[2]] = Fraction(found[1])
        at = found.end()
    if sum(parts.values()) <= 0 or min(parts.values()) < 0:
        raise NoPeriod(f'"{text}" is no duration of more than nothing')
    return parts


def _decimal(number):
    text = f"{float(number):.9f}".rstrip("0")
    if Fraction(text) != number:
        raise NoPeriod("a period has 9 decimals at most")
    return text

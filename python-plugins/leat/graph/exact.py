# SPDX-License-Identifier: Apache-2.0
"""Sums of arrays, element by element, that have the same bits in whatever order they are made: each element is kept as doubles whose
exact sum it is, and is rounded once. Source: Shewchuk: Adaptive Precision Floating-Point Arithmetic, 1997, GROW-EXPANSION, and
Knuth's two-sum; the last step is that of Python's math.fsum. Where a sum is beyond the largest double it is infinite."""
import math

import numpy as np


def _two_sum(a, b):
    with np.errstate(invalid="ignore", over="ignore"):
        total = a + b
        part = total - a
        rest = (a - (total - part)) + (b - part)
    rest[~np.isfinite(total)] = 0.0  # of infinities and NaN nothing is left over
    return total, rest


def add(terms, array):
    """terms: list of arrays, the smallest first. Returns such a list, with the array added."""
    grown, carried = [], np.array(array, "f8")
    for term in terms:
        carried, rest = _two_sum(carried, term)
        if rest.any():
            grown.append(rest)
    return [*grown, carried]


def rounded(terms):
    """The doubles nearest to the exact sums."""
    terms = list(terms)
    while len(terms) > 1:
        before = [term.copy() for term in terms]
        carried, rests = terms[0], []
        for term in terms[1:]:
            carried, rest = _two_sum(term, carried)
            rests.append(rest)
        terms = [*rests, carried]
        if all(np.array_equal(a, b, equal_nan=True) for a, b in zip(before, terms)):
            break
    result = np.array(terms[-1], "f8")
    if len(terms) > 1:
        _correct(result, terms)
    return result


def _correct(result, terms):
    """Where the second largest is half of the last place, the next ones say which way; two-sums do not see them."""
    second = np.zeros_like(result)
    for term in terms[:-1]:
        second = np.where(term != 0, term, second)
    with np.errstate(invalid="ignore"):
        mantissa, _ = np.frexp(result)
        limit = np.spacing(np.abs(result)) * np.where(np.abs(mantissa) == 0.5, 0.25, 0.5)
        close = np.isfinite(result) & (np.abs(second) >= limit)
    flat = result.reshape(-1)
    for i in np.flatnonzero(close):
        flat[i] = math.fsum(float(term.reshape(-1)[i]) for term in terms)

# SPDX-License-Identifier: Apache-2.0
"""Random numbers that are functions of what they are for, so that ranks and bursts need no state and can be looked at in any order.

They are the same on every machine, to the last bit: logarithms and exponentials are made of additions, multiplications and divisions,
which IEEE 754 defines; what a libm or NumPy has for them differs between processors."""
import numpy as np

LONGEST_NS = 10**15  # eleven days. Sums of such times stay far from the end of 64 bits

# What a number is drawn for: numbers of different purposes have nothing to do with each other.
PHASE, START, DURATION, TRACE_OF_NODE, TRACE_OF_RANK, COMPUTE = range(6)

_GOLDEN_GAMMA = 0x9E3779B97F4A7C15
_LN2 = 0.693147180559945309417
# The first 32 bits of it, whose product with a small whole number is exact, and the rest.
_LN2_FRONT, _LN2_REST = float.fromhex("0x1.62e42fep-1"), float.fromhex("0x1.f473de6af278fp-30")


class Draws:
    """The random numbers of one seed. `place` is who or what draws, an array of nodes or ranks; `index` counts what it draws them for."""

    def __init__(self, seed):
        self._seed = _mixed(np.array([seed], dtype=np.uint64))

    def uniform(self, purpose, place, index=0):
        """From 0 to below 1, in steps of 2^-53."""
        return _fraction(self._key(purpose, place, index))

    def below(self, end, purpose, place):
        """Whole numbers from 0 to below `end`."""
        return (self.uniform(purpose, place) * end).astype(np.int64)

    def normal(self, purpose, place, index=0):
        """Of mean 0 and standard deviation 1: G. Marsaglia, T. Bray, "A convenient method for generating normal variables", SIAM Review 6
        (1964). Of the two numbers that it makes one is left out."""
        key = self._key(purpose, place, index)
        found, left, attempt = np.empty(key.size), np.arange(key.size), 0
        while left.size:
            x, y = (2 * _fraction(_mixed_with(key, attempt + i)) - 1 for i in range(2))
            square = x * x + y * y
            good = (square > 0) & (square < 1)
            x, square = x[good], square[good]
            found[left[good]] = x * np.sqrt(-2 * log_of(square) / square)
            key, left, attempt = key[~good], left[~good], attempt + 2
        return found

    def log_normal_ns(self, median, spread, purpose, place, index=0):
        """Times in whole ns; `spread` is the standard deviation of their natural logarithm. None is above LONGEST_NS."""
        ns = median * exp_of(spread * self.normal(purpose, place, index))
        return rounded(np.minimum(ns, LONGEST_NS))

    def _key(self, purpose, place, index):
        return _mixed_with(_mixed_with(_mixed_with(self._seed, purpose), place), index)


def _mixed(z):
    """The output function of SplitMix64: G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _mixed_with(key, word):
    return _mixed(key + (np.atleast_1d(word) + 1).astype(np.uint64) * np.uint64(_GOLDEN_GAMMA))


def _fraction(bits):
    return (bits >> np.uint64(11)) * 2.0**-53


def rounded(numbers):
    """The nearest whole numbers."""
    return np.floor(numbers + 0.5).astype(np.int64)


def exp_of(x):
    """e^x: x = k ln 2 + r, and the series of e^r, whose term 14 is below 2^-53 for |r| <= ln 2 / 2."""
    k = np.floor(x / _LN2 + 0.5)
    r = (x - k * _LN2_FRONT) - k * _LN2_REST
    total = 1.0
    for term in range(14, 0, -1):
        total = r / term * total
        total += 1
    return np.ldexp(total, k.astype(np.int32))


def log_of(x):
    """ln x: x = 2^k m with m about 1, and the series of the area hyperbolic tangent: ln m = 2 artanh of (m-1)/(m+1), which is at most
    0.172."""
    m, k = np.frexp(x)
    small = m < 0.70710678118654752
    m, k = np.where(small, 2 * m, m), k - small
    t = (m - 1) / (m + 1)
    square, total = t * t, 0.0
    for power in range(23, 0, -2):
        total = total * square
        total += 1.0 / power
    return k * _LN2 + 2 * t * total

# SPDX-License-Identifier: Apache-2.0
"""Round numbers along an axis of a picture or its colour bar, and their texts."""
import math

_STEPS = 1, 2, 2.5, 5, 10
_DIGITS = 6


def ticks_of(low, high, most):
    """[(value, text)]: at most so many round values between the two, and two at least where there is room for three."""
    found = _ticks(low, high, most)
    return found if len(found) > 1 or most < 3 else _ticks(low, high, most + 2)


def _ticks(low, high, most):
    step = _step(high - low, most)
    if not step:
        return [(low, text_of(low, _DIGITS))]
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    values = [number * step for number in range(first, last + 1)]
    largest = max(map(abs, values), default=0)
    digits = 1 + math.ceil(math.log10(largest / step)) if largest else 1
    return [(value, text_of(value, max(_DIGITS, digits + 1))) for value in values]


def text_of(value, digits):
    """A short one, with a true minus."""
    text = f"{value:.{min(digits, 15)}g}" if value else "0"
    return text.replace("-", "\N{MINUS SIGN}") if "e" not in text else text


def _step(span, most):
    """The smallest round one of which at most `most` ticks are in the span; 0 where there is none."""
    if not (span > 0 and math.isfinite(span)):
        return 0
    ten = 10.0 ** math.floor(math.log10(span / most))
    return next((step * ten for step in (*_STEPS, 20, 50, 100) if span / (step * ten) <= most - 1), 0)

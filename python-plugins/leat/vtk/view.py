# SPDX-License-Identifier: Apache-2.0
"""Where things are in a picture, without VTK: in pixels from the lower left, seen in parallel rays, so that lengths are true."""
from dataclasses import dataclass

import numpy as np

_ACROSS = np.array([[1.0, 0, 0], [0, -1.0, 0], [0, 0, 1.0]])  # from where one looks at a plane across each axis


@dataclass
class Layout:
    """Of a picture of this size. em: height of its letters."""
    width: int
    height: int

    @property
    def em(self):
        return max(8, round(self.height / 38))

    @property
    def scene(self):
        """(left, bottom, right, top) of what is drawn: the title is above it, the colour bar right of it, numbers of axes around."""
        return round(4.5 * self.em), 3 * self.em, self.width - 9 * self.em, self.height - 4 * self.em

    @property
    def bar(self):
        left = self.width - 7 * self.em
        return left, round(0.2 * self.height), left + self.em, round(0.8 * self.height)


class View:
    """Of a box between two corners, by somebody who looks from a direction and has `up` above."""

    def __init__(self, layout, low, high, towards, up):
        self.towards = np.asarray(towards, float) / np.linalg.norm(towards)  # the eye
        self.right = np.cross(up, self.towards)
        self.right /= np.linalg.norm(self.right)
        self.up = np.cross(self.towards, self.right)
        self.low, self.high = np.asarray(low, float), np.asarray(high, float)
        self.centre = (self.low + self.high) / 2
        left, bottom, right, top = self.scene = layout.scene
        self.middle = np.array([left + right, bottom + top]) / 2
        seen = self._flat(corners(self.low, self.high))
        sides = np.ptp(seen, axis=0)
        room = np.array([right - left, top - bottom])
        self.pixels = min(room[sides > 0] / sides[sides > 0], default=1.0)  # of a unit of length

    def _flat(self, places):
        return (np.asarray(places, float) - self.centre) @ np.stack([self.right, self.up], -1)

    def place(self, places):
        """Pixels (x, y) of places (x, y, z)."""
        return self.middle + self.pixels * self._flat(places)


def from_camera(layout, low, high, towards):
    """From this direction, with z upwards; with y upwards for who looks along z."""
    is_along_z = np.linalg.norm(np.asarray(towards, float)[:2]) < 1e-6 * np.linalg.norm(towards)
    return View(layout, low, high, towards, [0, 1, 0] if is_along_z else [0, 0, 1])


def across(layout, low, high, axis):
    """At a plane across this axis: what comes first along the others is left and below."""
    return View(layout, low, high, _ACROSS[axis], [0, 1, 0] if axis == 2 else [0, 0, 1])


def corners(low, high):
    """All eight: number 1, 2 and 4 of their index say where x, y and z are high."""
    return np.array([[(low, high)[number >> axis & 1][axis] for axis in range(3)] for number in range(8)])


def edges_with_numbers(view):
    """(axis, from, to, outwards) of an edge of the box for each axis that is seen, and where its numbers are: (x, y) of length 1."""
    places, found = corners(view.low, view.high), []
    flat = view.place(places)
    for axis in range(3):
        ends = [(number, number | 1 << axis) for number in range(8) if not number >> axis & 1]
        along = flat[ends[0][1]] - flat[ends[0][0]]
        if np.linalg.norm(along) < 1:
            continue
        outwards = np.array([along[1], -along[0]]) / np.linalg.norm(along)
        if outwards[0 if abs(along[1]) > abs(along[0]) else 1] > 0:
            outwards = -outwards  # numbers are on the left of what goes upwards, and below what goes across
        first, last = max(ends, key=lambda pair: (flat[pair[0]] + flat[pair[1]]) @ outwards)
        found.append((axis, places[first], places[last], outwards))
    return found

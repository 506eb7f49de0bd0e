# SPDX-License-Identifier: Apache-2.0
"""What soak_rank writes: the same bytes from the same numbers, and the same dice for shapes and places. There are several
worlds, so that not all runs begin with the same patches."""
import math

from leat_run import data

WORLDS = 16
MOST_PATCHES = 3
ON_MESH = ("patch", "piece")
TYPES = {"small": "i8", "large": "f4", "ragged": "u2", "grid": "f8", "leased": "u1", "position": "f4", "kind": "i2",
         "patch": "f8", "piece": "i4"}
SEEDS = {"small": 0, "large": 1, "ragged": 2, "grid": 3, "leased": 4, "position": 5, "kind": 6, "patch": 10, "piece": 20}
DICE_OF_PARTICLES, DICE_OF_PATCHES = 40, 50
ROWS, COLUMNS = 6, 20
SHAPES = {"small": (8,), "large": (16384,), "leased": (4096,), "grid": (ROWS + 2, COLUMNS)}


class World:
    def __init__(self, number):
        self.number = number

    def block(self, variable, iteration, rank, number=0):
        """The array, without ghosts; None when this rank has no such block in this iteration."""
        shape = self.shape(variable, iteration, rank, number)
        if shape is None:
            return None
        seed = self.seed(iteration, rank, SEEDS[variable] + number)
        array = data(math.prod(shape), TYPES[variable], seed).reshape(shape)
        return array[1:-1] if variable == "grid" else array

    def shape(self, variable, iteration, rank, number):
        """With ghosts."""
        if number >= (MOST_PATCHES if variable in ON_MESH else 1):
            return None
        if variable in ON_MESH:
            if (iteration + self.number) % 7 == 0:
                return None
            return self.shape_of_patch(variable, self.dice(iteration, rank, DICE_OF_PATCHES + number))
        if variable in ("position", "kind"):
            return self.shape_of_particles(variable, self.dice(iteration, rank, DICE_OF_PARTICLES))
        return SHAPES.get(variable) or ((7 * iteration + 3 * rank) % 61,)

    @staticmethod
    def shape_of_patch(variable, thrown):
        if variable == "patch":
            return (4, 4) if thrown[0] % 2 == 0 else None
        return (thrown[5] % 6, 1 + thrown[6] % 4) if thrown[1] % 3 else None

    @staticmethod
    def shape_of_particles(variable, thrown):
        if variable == "position":
            return thrown[0] % 10, 3
        return (thrown[0] % 10 + (thrown[1] == 0),) if thrown[2] else None

    def particles_are_as_many(self, iteration, rank):
        return self.shape("kind", iteration, rank, 0) == self.shape("position", iteration, rank, 0)[:1]

    def place(self, iteration, rank, number):
        """(level, first cell) of a patch: what was said of it last, which is every other iteration."""
        said = max(0, iteration - (iteration + number) % 2)
        thrown = self.dice(said, rank, DICE_OF_PATCHES + number)
        return thrown[2] % 4, (thrown[3] - 8, thrown[4] - 8)

    def dice(self, iteration, rank, which):
        return data(8, "u1", self.seed(iteration, rank, which)).tolist()

    def seed(self, iteration, rank, which):
        return 1 + 1_000_000_007 * self.number + 1_000_003 * iteration + 101 * rank + which

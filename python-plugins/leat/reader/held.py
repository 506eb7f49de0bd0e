# SPDX-License-Identifier: Apache-2.0
"""Variables of one iteration, read from the file at once: what comes later, as a picture of them, does not open it again."""
from dataclasses import replace

import numpy as np

from ..scripting.stored_run import StoredIteration


class Held:
    """What a StoredVariable is, with its values in memory."""

    def __init__(self, stored, row):
        self.variable, self.layout, self.had_ghosts = stored.variable, stored.layout, stored.had_ghosts
        is_there = stored.is_in(row)
        self._whole = stored.whole(row) if self.layout == "global" and is_there else None
        # Of memory of their own: one of them that is kept does not keep all of them.
        blocks = stored.blocks(row) if self.layout != "global" and is_there else []
        self._blocks = [replace(block, data=np.array(block.data)) for block in blocks]

    def whole(self, _):
        return self._whole

    def blocks(self, _):
        return [replace(block) for block in self._blocks]


def read_held(source, facts, names, number):
    """{name: Held} of these variables in the iteration."""
    def work(stored):
        row = stored.iterations.index(number)
        return {name: Held(stored.variables[name], row) for name in names}
    return source.read(work)


def iteration_of(facts, number, held):
    """scripting's Iteration of what is held, for what scripts make of one: datasets, meshes."""
    row = facts.rows[number]
    time = None if facts.times is None or np.isnan(facts.times[row]) else float(facts.times[row])
    return StoredIteration(facts.model, number, facts.complete[row], parameters_at(facts, row), dict(held), row, time)


def parameters_at(facts, row):
    """{name: value} of those that had one."""
    found = {}
    for name, values in facts.parameters.items():
        value = values[row].item()
        if value == value and not (values.dtype.kind == "i" and value == np.iinfo(values.dtype).min):
            found[name] = value
    return found

# SPDX-License-Identifier: Apache-2.0
"""Particles as a table: a row for each, a column for each number that it has."""
import numpy as np

from ..vtk.meshes import POINTS
from .needs import lacks


def frame_of(held, what):
    """A pandas.DataFrame of these source.Held, which are blocks of the same ranks with as many values in each. what: for messages."""
    pandas = _pandas()
    names = list(held)
    blocks = {name: each.blocks(0) for name, each in held.items()}
    owners = [(block.rank, block.block, len(np.atleast_1d(block.data))) for block in blocks[names[0]]]
    for name in names[1:]:
        others = [(block.rank, block.block, len(np.atleast_1d(block.data))) for block in blocks[name]]
        if others != owners:
            raise ValueError(f'{what}: "{name}" has not as many values in each block as "{names[0]}": {_difference(others, owners)}. Make '
                             "a table of each")
    ranks, numbers, counts = (np.array([owner[i] for owner in owners], "i8") for i in range(3))
    columns = {"rank": np.repeat(ranks, counts)}
    if len(set(ranks.tolist())) < len(ranks):
        columns["block"] = np.repeat(numbers, counts)
    for name in names:
        columns.update(_columns(held[name].variable, name, blocks[name]))
    return pandas.DataFrame(columns)


def names_for(facts, asked, file):
    """Names of variables: those asked for, a mesh of points standing for all that is on it; none: the only such mesh of the run."""
    particles = [mesh for mesh in facts.model.meshes if mesh.kind == POINTS]
    if not asked:
        if len(particles) != 1:
            there = ", ".join(f'"{mesh.name}"' for mesh in particles) or "none"
            raise ValueError(f"table(): say of what, names of variables or a mesh of particles; meshes of particles in {file}: {there}")
        asked = [particles[0].name]
    found = {}  # in order
    for name in asked:
        mesh = next((mesh for mesh in facts.model.meshes if mesh.name == name), None)
        if mesh is None or name in facts.variables:
            found[name] = facts.variable(name, file)
            continue
        if mesh.kind != POINTS:
            raise ValueError(f'table("{name}"): the mesh is none of particles; name variables, or make it a data set: mesh("{name}")')
        members = [facts.model.variables[number].name for number in mesh.coordinates]
        members += [each.name for each in facts.variables.values() if each.mesh == name and each.name not in members]
        found.update((member, facts.variable(member, file)) for member in members)
    for name, variable in found.items():
        if variable.is_global:
            raise ValueError(f'table(): "{name}" is one array of all ranks, no list of each: [\"{name}\"] has it')
    return list(found)


def _columns(variable, name, blocks):
    """One, or one for each number of an element; those of three, as of positions, are x, y, z where the dimension is called "xyz"."""
    parts = [np.atleast_1d(block.data) for block in blocks]
    values = np.concatenate([part.reshape(len(part), -1) if part.size else part.reshape(0, _width(part)) for part in parts]) if parts else (
        np.zeros((0, 1), variable.dtype))
    if values.shape[1] == 1:
        return {name: values[:, 0]}
    last = variable.dimensions[-1].name
    ends = last if len(last) == values.shape[1] else range(values.shape[1])
    return {f"{name}_{end}": values[:, i] for i, end in enumerate(ends)}


def _width(part):
    return int(np.prod(part.shape[1:], dtype="i8"))


def _difference(some, others):
    if [each[:2] for each in some] != [each[:2] for each in others]:
        return "other ranks, or other blocks, wrote it"
    rank, _, count, expected = next((*a, b[2]) for a, b in zip(some, others) if a != b)
    return f"{count} of rank {rank}, and there {expected}"


def _pandas():
    try:
        import pandas
        return pandas
    except ImportError as error:
        raise lacks("a table is a pandas.DataFrame", "pandas", error) from None

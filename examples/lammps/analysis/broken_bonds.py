# SPDX-License-Identifier: Apache-2.0
"""Where the crack is: the broken bonds of each atom in LAMMPS' crack run (examples/lammps/crack.xml).

    <scripts><folder path="analysis"/></scripts>        in crack.xml; a copy of this file in analysis/

A Lennard-Jones solid has no bonds of its own. Here two atoms are bonded when they are neighbours in the first iteration
that is seen, and a bond is broken while it is longer than STRETCH times its first length. Bonds with a first length that
break at a critical stretch are what LAMMPS has in `bond_style bpm/spring` (docs.lammps.org/bond_bpm_spring.html). The 1.5
is our choice: at 1.5 times the lattice's distance of 1.114 sigma the Lennard-Jones force has fallen to a quarter of its
greatest pull, and the next atoms of the hexagonal lattice are at 1.73 times. So slip counts too: where one row of atoms
slides along another by one place, each atom of both loses one bond (and gets another, which is not looked for). An atom
on a face of the crack loses two or more. The picture tells them apart by colour.
"""
import itertools

import leat
import numpy as np
from matplotlib.collections import EllipseCollection
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure

NEIGHBOURS = 1.3  # times the distance of nearest neighbours: between the first (1) and the second (1.73) of the lattice
STRETCH = 1.5
NOT_BONDED = (2, 3)  # types that do not feel each other: `neigh_modify exclude type 2 3` in the deck makes the notch
COLOURS = ListedColormap(["#d3dae3", "#4f86c6", "#f9b233", "#f0732c", "#d7263d", "#8f0f2b", "#3d0214"])


@leat.on_iteration(variables=["x", "id", "type"])
def process(ds, ctx):
    order = np.argsort(ds["id"].values)  # atoms move from rank to rank; their ids stay
    ids, x = ds["id"].values[order], ds["x"].values[order]
    if "pairs" not in ctx.state:
        pairs, lengths, spacing = first_bonds(x, ds["type"].values[order])
        ctx.state.update(pairs=ids[pairs], lengths=lengths, spacing=spacing, box=(x.min(axis=0), x.max(axis=0)))
        ctx.log(f"{len(pairs)} bonds of {len(ids)} atoms; nearest neighbours are {spacing:.3f} apart")
    broken = broken_bonds(ids, x, ctx.state["pairs"], ctx.state["lengths"])
    ctx.scalar("broken_bonds", int(broken.sum()) // 2)  # each has two ends
    ctx.store("id", ids, dims=("atom",))
    ctx.store("broken", broken, dims=("atom",))
    ctx.image("crack", draw(x, broken, ctx.state["spacing"], ctx.state["box"], ctx.iteration))


def first_bonds(x, types):
    """(pairs as indices, their lengths, distance of nearest neighbours)."""
    sides = np.ptp(x, axis=0)
    sides = sides[sides > 0]  # a plane of atoms has no thickness
    far = 2 * (np.prod(sides) / len(x)) ** (1 / len(sides))  # twice the edge of the square that each atom has
    pairs, lengths = close_pairs(x, far)
    nearest = np.full(len(x), np.inf)
    for end in pairs.T:
        np.minimum.at(nearest, end, lengths)
    spacing = float(np.median(nearest))
    bonded = (lengths < NEIGHBOURS * spacing) & (np.sort(types[pairs], axis=1) != NOT_BONDED).any(axis=1)
    return pairs[bonded], lengths[bonded].astype("f4"), spacing


def close_pairs(x, far):
    """All pairs of atoms closer than `far`, each once, and their distances: a grid of cells with edges of `far`, so that
    partners lie in the same cell or in the next one."""
    cell = ((x - x.min(axis=0)) // far).astype(int) + 1  # a margin of empty cells: neighbours always exist
    shape = cell.max(axis=0) + 2
    number = np.ravel_multi_index(cell.T, shape)
    order = np.argsort(number, kind="stable")  # the atoms of a cell are order[start:end]
    start = np.searchsorted(number[order], np.arange(np.prod(shape) + 1))
    found = []
    for step in itertools.product((-1, 0, 1), repeat=x.shape[1]):
        if step < (0,) * x.shape[1]:
            continue  # the other half of the neighbours finds these pairs
        other = number + int(np.dot(step, np.append(np.cumprod(shape[:0:-1])[::-1], 1)))
        many = start[other + 1] - start[other]  # candidates of each atom
        a = np.repeat(np.arange(len(x)), many)
        b = order[np.arange(many.sum()) + np.repeat(start[other] - (np.cumsum(many) - many), many)]
        found.append(np.stack([a, b], axis=1)[(a < b) | any(step)])
    pairs = np.concatenate(found)
    lengths = np.linalg.norm(x[pairs[:, 0]] - x[pairs[:, 1]], axis=1)
    return pairs[lengths < far], lengths[lengths < far]


def broken_bonds(ids, x, pairs, lengths):
    """How many bonds of each atom are broken; ids ascend. Bonds of an atom that is not there do not count."""
    ends = np.minimum(np.searchsorted(ids, pairs), len(ids) - 1)
    there = (ids[ends] == pairs).all(axis=1)
    now = np.linalg.norm(x[ends[:, 0]] - x[ends[:, 1]], axis=1)
    broken = ends[there & (now > STRETCH * lengths)]
    return np.bincount(broken.ravel(), minlength=len(ids)).astype("i4")


def draw(x, broken, spacing, box, iteration):
    low, high = box  # of the first iteration, with room above for the pull: the view stands still
    width, height = 1.04 * (high[0] - low[0]), 1.2 * (high[1] - low[1])
    figure = Figure(figsize=(6 * width / height + 1.5, 6 + 0.8), dpi=150, layout="compressed")
    axes = figure.add_subplot(aspect="equal", xlabel="x / σ", ylabel="y / σ",
                              xlim=(low[0] - 0.02 * width, low[0] + 0.98 * width),
                              ylim=(low[1] - 0.02 * height, low[1] + 0.98 * height))
    size = np.full(len(x), 0.96 * spacing)  # the atoms nearly touch
    atoms = EllipseCollection(size, size, np.zeros(len(x)), units="xy", offsets=x[:, :2], linewidths=0,
                              offset_transform=axes.transData, array=broken, cmap=COLOURS,
                              norm=BoundaryNorm(np.arange(8) - 0.5, 7))
    axes.add_collection(atoms)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(f"Iteration {iteration}: {int(broken.sum()) // 2} broken bonds", loc="left")
    bar = figure.colorbar(atoms, ax=axes, ticks=range(7), shrink=0.5, aspect=14, pad=0.0, label="broken bonds of the atom")
    bar.ax.tick_params(length=0, which="both")
    bar.outline.set_visible(False)
    return figure

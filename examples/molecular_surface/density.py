# SPDX-License-Identifier: Apache-2.0
"""A module: the density of atoms on a grid, each spread by a Gaussian of 1.2 angstrom."""
import leat.module as module
import numpy as np

WIDTH = 1.2


def smooth(density, width):
    """Along each axis, cut off at three widths."""
    reach = int(np.ceil(3 * width))
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2)
    for axis in range(3):
        density = np.apply_along_axis(np.convolve, axis, density, kernel / kernel.sum(), mode="same")
    return density


while module.wait():
    given = module.options()
    box, cells = np.array(given["box"]), given["cells"]
    spacing = (box[:, 1] - box[:, 0]) / cells
    density = module.memory(cells)
    density[...] = 0.0
    for positions, types in zip(module.parts("x"), module.parts("type")):
        own = positions.data[~np.isin(types.data, given["water"])]
        counts, _ = np.histogramdd(own, bins=cells, range=box)
        density += counts / spacing.prod()
    density[...] = smooth(density, WIDTH / spacing.mean())
    module.put("density", density, dims=("x", "y", "z"), unit="angstrom-3")

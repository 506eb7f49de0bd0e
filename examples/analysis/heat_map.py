# SPDX-License-Identifier: Apache-2.0
"""A heat map with isolines of every field of two dimensions, and of the middle slice of every field of three, for any run.

    <scripts><folder path="analysis"/></scripts>        in the XML; a copy of this file in analysis/

The colour scale is the same in all pictures of a run: it spans all values drawn so far, and only ever grows. Where you know
the limits, write them into LIMITS; then it never changes.
"""
import leat
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

LIMITS = {}  # {"temperature": (300, 400)}
COLOURS, SIGNED = "inferno", "RdBu_r"  # the second for values of both signs
ISOLINES = 8  # about as many
PIXELS = 1000  # larger fields are thinned out to less than twice as many cells, in each direction


@leat.on_iteration()  # (every=10) for each tenth; (variables=["temperature"]) for some variables only
def process(ds, ctx):
    for name, array in ds.data_vars.items():
        if not is_field(array):
            continue
        where = ""
        if array.ndim == 3:
            middle = array.shape[0] // 2
            where, array = f", {array.dims[0]} = {middle}", array[middle]
        limits = LIMITS.get(name) or widened(ctx.state.get(name), array.values)
        if limits is None:  # not one finite value
            continue
        ctx.state[name] = limits
        title = f"{array.attrs.get('long_name') or name}{where}, iteration {ctx.iteration}"
        ctx.image(name, draw(array, limits, title, name))


def is_field(array):
    """Real numbers in two or three dimensions, two cells or more in the last two; particles are none: they have a
    coordinate like "atom_rank"."""
    if array.ndim not in (2, 3) or array.dtype.kind not in "iuf" or any(f"{d}_rank" in array.coords for d in array.dims):
        return False
    return array.size > 0 and min(array.shape[-2:]) > 1


def widened(limits, values):
    values = values[np.isfinite(values)]
    if values.size == 0:
        return limits
    low, high = limits or (np.inf, -np.inf)
    return min(low, float(values.min())), max(high, float(values.max()))


def draw(array, limits, title, name):
    low, high = limits if limits[0] < limits[1] else (limits[0] - 0.5, limits[0] + 0.5)
    signed = min(-low, high) > 0.1 * max(-low, high)  # both signs: blue below zero, white, red above
    if signed:
        low, high = -max(-low, high), max(-low, high)
    x, y, values = thinned(array, PIXELS)
    half = (x[1] - x[0]) / 2, (y[1] - y[0]) / 2  # a cell ends half a cell away from its middle
    shape = np.clip(np.ptp(x) / np.ptp(y), 0.4, 2.5)
    figure = Figure(figsize=(1.5 + 5 * max(1, shape), 0.8 + 5 * max(1, 1 / shape)), layout="compressed")
    axes = figure.add_subplot(title=title, xlabel=label(array, 1), ylabel=label(array, 0))
    picture = axes.imshow(values, cmap=SIGNED if signed else COLOURS, vmin=low, vmax=high, interpolation="nearest",
                          origin="lower", aspect="equal" if 0.4 < shape < 2.5 else "auto",
                          extent=(x[0] - half[0], x[-1] + half[0], y[0] - half[1], y[-1] + half[1]))
    x, y, values = thinned(array, 150)  # enough for smooth lines
    seen = values[np.isfinite(values)]
    levels = MaxNLocator(ISOLINES, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    levels = [level for level in levels if seen.size and seen.min() < level < seen.max()]
    if levels:
        lines = axes.contour(x, y, values, levels=levels, colors="black" if signed else "white", linewidths=0.7, alpha=0.7)
        axes.clabel(lines, fontsize=7)
    units = array.attrs.get("units")
    figure.colorbar(picture, ax=axes, label=f"{name} / {units}" if units else name, pad=0.02)
    return figure


def thinned(array, most):
    """Coordinates (the cells' numbers when there are none) and values of at most 2 * most cells in each direction."""
    part = [slice(None, None, max(1, n // most)) for n in array.shape]
    y, x = (array[dimension].values[p] * 1.0 for dimension, p in zip(array.dims, part))
    return x, y, array.values[tuple(part)]


def label(array, direction):
    dimension = array.dims[direction]
    units = array[dimension].attrs.get("units") if dimension in array.coords else "cells"
    return f"{dimension} / {units}" if units else dimension

# SPDX-License-Identifier: Apache-2.0
"""A histogram of every numeric variable, stored and drawn, for any run.

    <scripts><folder path="analysis"/></scripts>        in the XML; a copy of this file in analysis/

Stores temperature_counts (values per bin) and temperature_edges (limits of the bins), and draws temperature_histogram.
The bins span all values seen in the run so far, so the histograms of two iterations can be compared. Values that are not
finite are left out.
"""
import leat
import numpy as np
from matplotlib.figure import Figure

BINS = 60


@leat.on_iteration()  # (every=10) for each tenth; (variables=["temperature"]) for some variables only
def process(ds, ctx):
    for name in ds:
        values = np.asarray(ds[name])
        if values.dtype.kind not in "iuf":
            continue
        values = values[np.isfinite(values)]  # flat, and a copy
        if values.size == 0:
            continue
        low, high = ctx.state.get(name, (np.inf, -np.inf))
        ctx.state[name] = low, high = min(low, float(values.min())), max(high, float(values.max()))
        counts, edges = np.histogram(values, bins=BINS, range=(low, high))
        attributes = getattr(ds[name], "attrs", {})
        ctx.store(f"{name}_counts", counts, dims=("bin",))
        ctx.store(f"{name}_edges", edges, dims=("edge",), units=attributes.get("units"))
        ctx.image(f"{name}_histogram", draw(name, attributes, counts, edges, values.mean(), ctx.iteration))


def draw(name, attributes, counts, edges, mean, iteration):
    figure = Figure(figsize=(7, 4), layout="constrained")  # no pyplot: nothing is left behind between iterations
    axes = figure.add_subplot()
    axes.stairs(counts, edges, fill=True, color="#3b6ea5")
    axes.axvline(mean, color="#c44e52", linewidth=1.2, label=f"mean {mean:.5g}")
    axes.set_title(f"{attributes.get('long_name') or name}, iteration {iteration}", loc="left")
    units = attributes.get("units")
    axes.set_xlabel(f"{name} / {units}" if units else name)
    axes.set_ylabel("number of values")
    axes.set_xlim(edges[0], edges[-1])
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return figure

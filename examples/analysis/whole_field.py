# SPDX-License-Identifier: Apache-2.0
"""Spectrum, mean profile and picture of the whole field of a run on several nodes, by Dask: for variables of two dimensions.

    <scripts><folder path="analysis"/></scripts>        in the XML; a copy of this file in analysis/
"""
import dask.array as da
import leat
import numpy as np
from matplotlib.figure import Figure

MOST = 500  # cells of the picture, in each direction


@leat.on_iteration(arrays="dask", scope="run")
def process(ds, ctx):
    for name, u in ds.data_vars.items():
        if u.ndim != 2:
            continue
        power = abs(da.fft.rfft(u.data.rechunk({1: -1}), axis=1)) ** 2     # along x: each row lies on one node
        ctx.store(f"{name}_spectrum", power.mean(axis=0).compute(), dims=["wave_number"])
        ctx.store(f"{name}_profile", u.mean(u.dims[1]).compute())
        steps = [max(1, n // MOST) for n in u.shape]
        figure = Figure(figsize=(6, 5), layout="constrained")
        axes = figure.add_subplot(title=f"{name}, iteration {ctx.iteration}", xlabel=u.dims[1], ylabel=u.dims[0])
        picture = np.asarray(u.data[::steps[0], ::steps[1]].compute())     # thinned out before it travels
        figure.colorbar(axes.imshow(picture, origin="lower", aspect="auto", cmap="inferno"), label=u.attrs.get("units", ""))
        ctx.image(name, figure)

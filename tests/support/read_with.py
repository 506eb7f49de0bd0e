# SPDX-License-Identifier: Apache-2.0
"""read_with.py READER OUT.npz FILE...: what a reader from PyPI sees in files, in the environment of tools/readers or tools/judges.
Names in OUT: "<number of the file>:<variable>", and ".../coordinates", their names in the order of the dimensions, where it has any."""
import sys
import warnings

import numpy as np

warnings.simplefilter("ignore")


def plain(values):
    return np.ma.filled(values) if np.ma.isMaskedArray(values) and not values.mask.any() else np.asarray(values)


def iris(path):
    import iris as reader
    for cube in reader.load(path):
        yield cube.var_name, cube.data, [c.var_name for c in cube.dim_coords]


def cf(path):
    import cf as reader
    for field in reader.read(path, backend="netCDF4"):
        name = field.nc_get_variable()
        if not name.startswith("/"):
            yield name, field.array, sorted(field.coordinate(c).nc_get_variable() for c in field.coordinates())


def h5netcdf(path):
    import h5netcdf as reader
    with reader.File(path, phony_dims="access") as file:
        for name, variable in file.variables.items():
            if variable.dtype.kind in "fiu":
                yield name, variable[...], variable.dimensions


def plot(path):
    """xarray plots a field, the last that has two dimensions and a time, without being told a coordinate: what is on the axes."""
    import matplotlib
    matplotlib.use("Agg")
    import xarray as xr
    with xr.open_dataset(path, decode_timedelta=False) as ds:
        for name, field in ds.data_vars.items():
            if field.ndim != 3 or field.dtype.kind != "f":
                continue
            drawn = field.isel({field.dims[0]: -1}).plot()
            labels = [drawn.axes.get_ylabel(), drawn.axes.get_xlabel()]
            yield name, plain(drawn.get_array()).reshape(field.shape[1:]), labels
            drawn.figure.clf()


def yt(path):
    import h5py
    import yt as reader
    reader.set_log_level("error")
    with h5py.File(path) as file:
        for name, data in file.items():
            if isinstance(data, h5py.Dataset) and data.ndim == 3 and data.dtype.kind == "f":
                ds = reader.load_uniform_grid({name: data[-1][..., np.newaxis]}, (*data.shape[1:], 1))
                yield name, ds.index.grids[0]["stream", name].v[..., 0], []


def main(reader, out, *paths):
    found = {}
    for number, path in enumerate(paths):
        for name, values, coordinates in globals()[reader](path):
            found[f"{number}:{name}"] = plain(values)
            found[f"{number}:{name}/coordinates"] = np.array(list(coordinates), "U")
    np.savez(out, **found)


main(*sys.argv[1:])

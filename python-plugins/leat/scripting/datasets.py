# SPDX-License-Identifier: Apache-2.0
"""Arrays of an iteration as an xarray.Dataset, or as a mapping of NumPy arrays where xarray is not there."""
from .views import Expired, ExpiredError

try:
    import xarray
except ImportError:
    xarray = None


class Arrays(dict):
    """{name: NumPy array}; attrs as of an xarray.Dataset; units: {name: text}; coords: {name: (dim, values)}."""

    def __init__(self, arrays, attrs, units, coords):
        super().__init__(arrays)
        self.attrs, self.units, self.coords = attrs, units, coords
        self._expired = None

    def __getitem__(self, name):
        if self._expired:
            raise ExpiredError(f"the arrays of iteration {self._expired[0]} were used after the call that they were for: "
                               "keep copies, like ds[name].copy()")
        return super().__getitem__(name)

    def copy(self, deep=False):
        return Arrays({name: array.copy() if deep else array for name, array in self.items()}, dict(self.attrs),
                      dict(self.units), {name: (dim, values.copy()) for name, (dim, values) in self.coords.items()})

    def _expire(self):
        self._expired = (self.attrs["iteration"],)
        self.clear()
        self.coords.clear()


def make_dataset(iteration, arrays, kind):
    """(ds, function that ends it) of {name: blocks.Array}."""
    if kind == "xarray" and xarray is None:
        raise ImportError('arrays="xarray": xarray is not installed in this Python: pip install xarray')
    attrs = {"simulation": iteration.model.simulation, "iteration": iteration.number, "complete": int(iteration.complete)}
    if kind == "numpy" or xarray is None:
        return _mapping(iteration, arrays, attrs)
    return _labelled(iteration, arrays, attrs)


def _mapping(iteration, arrays, attrs):
    by_name = iteration.model.by_name
    coords = {name: coord for array in arrays.values() for name, coord in array.coords.items()}
    ds = Arrays({name: array.data for name, array in arrays.items()}, attrs,
                {name: by_name[name].unit for name in arrays}, coords)
    return ds, ds._expire


def _labelled(iteration, arrays, attrs):
    by_name = iteration.model.by_name
    sizes = {}
    variables = {}
    coords = {"iteration": iteration.number}
    if isinstance(iteration.parameters.get("time"), (int, float)):
        coords["time"] = iteration.parameters["time"]
    for name, array in arrays.items():
        # Two lengths of one dimension's name cannot stand in one dataset.
        dims = tuple(dim if sizes.setdefault(dim, n) == n else f"{dim}_of_{name.replace('/', '_')}"
                     for dim, n in zip(array.dims, array.data.shape))
        renamed = dict(zip(array.dims, dims))
        variables[name] = xarray.Variable(dims, array.data, by_name[name].attributes, fastpath=True)
        for coord, (dim, values) in array.coords.items():
            coords[coord if renamed[dim] == dim else f"{renamed[dim]}_rank"] = (renamed[dim], values)
    ds = xarray.Dataset(variables, coords, attrs)
    held, names, number = [ds.variables[name] for name in variables], list(variables), iteration.number
    return ds, lambda: _expire(held, names, number)


def _expire(variables, names, number):
    for variable, name in zip(variables, names):
        variable._data = Expired(name, number, variable._data)

# SPDX-License-Identifier: Apache-2.0
"""Arrays of an iteration as an xarray.Dataset, or as a mapping of NumPy arrays where xarray is not there."""
import functools
from dataclasses import dataclass

import numpy as np

from .coordinates import ITERATION, DimensionNames, axis_of, between, coordinates_of, nodes_along, places_of
from .vectors import AXES, COMPONENT, stacked, without_copy
from .views import Expired, ExpiredError


@functools.cache
def xarray():
    """The module, which takes its time, or None where it is not there."""
    try:
        import xarray as found
        return found
    except ImportError:
        return None


class Arrays(dict):
    """{name: NumPy array}; attrs as of an xarray.Dataset; units: {name: text}; coords: {name: (dim, values)}, or
    (dims, values) where there are several."""

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


def make_dataset(iteration, arrays, kind, beside=(), products=None, vectors=None):
    """(ds, function that ends it) of {name: blocks.Array}. beside: names of those that only say where the others lie. products:
    {name: blocks.Product}, which do not end. vectors: {name: Variables whose arrays are there}."""
    if kind == "xarray" and xarray() is None:
        raise ImportError('arrays="xarray": xarray is not installed in this Python: pip install xarray')
    attrs = {"simulation": iteration.model.simulation, "iteration": iteration.number, "complete": int(iteration.complete)}
    names, products = DimensionNames(iteration.model), products or {}
    named = _named(iteration.model, arrays, names)
    if kind == "numpy" or xarray() is None:
        ds, end = _mapping(iteration, named, attrs, beside)
        ds.update({name: product.data for name, product in products.items()})
        ds.units.update({name: product.units for name, product in products.items()})
        for name, parts in (vectors or {}).items():
            ds[name], ds.units[name] = stacked(name, [named[part.name].data for part in parts]), parts[0].unit
        return ds, end
    products = {name: _variable_of(each, names) for name, each in products.items()}
    return _labelled(iteration, named, attrs, beside, products, _vectors_of(vectors or {}, named, names))


def _vectors_of(vectors, named, names):
    """{name: xarray.Variable}, and the coordinates that say which component is which."""
    made, coords = {}, {}
    for name, parts in vectors.items():
        first = named[parts[0].name]
        dim = names.name(COMPONENT, len(parts))
        data = without_copy(name, [named[part.name].data for part in parts])
        made[name] = xarray().Variable((dim, *first.dims), data, {"units": parts[0].unit} if parts[0].unit else {}, fastpath=True)
        coords[dim] = xarray().Variable((dim,), list(AXES[:len(parts)]))
    return made, coords


def _variable_of(product, names):
    dims = [names.name(wish, length) for wish, length in zip(product.dims, product.data.shape)]
    return xarray().Variable(dims, product.data, {"units": product.units} if product.units else {}, fastpath=True)


@dataclass
class _Named:
    """An array under the names that its dimensions have in the dataset. places: {dim: Places}. coords: {name: (dim, values)}."""
    variable: object
    dims: tuple
    data: object
    places: dict
    coords: dict


def _named(model, arrays, names):
    in_order = sorted(map(model.by_name.get, arrays), key=lambda variable: variable.number)  # as a store names them
    for name in model.coordinate_variables.intersection(arrays):
        names.take_coordinates(name, len(arrays[name].data))
    named = {variable.name: _with_names(model, names, variable, arrays[variable.name], arrays) for variable in in_order}
    return {name: named[name] for name in arrays}


def _between_nodes(model, variable, d, cells, arrays):
    nodes = nodes_along(model, variable, d)
    return between(model, variable, d, arrays[nodes.name].data, cells) if nodes is not None and nodes.name in arrays else None


def _with_names(model, names, variable, array, arrays):
    # A mesh is where the whole begins: a block of several has a place of its own.
    is_whole = variable.has_global or (model.ranks == 1 and not variable.varies and array.owners is None)
    has_places = is_whole and len(array.dims) == len(variable.dimensions)
    dims, places, renamed = [], {}, {}
    if array.owners is not None:
        dims.append(names.blocks(array.owners, variable.name))
    for d, (wish, length) in list(enumerate(zip(array.dims, array.data.shape)))[len(dims):]:
        there = (places_of(variable, d) or _between_nodes(model, variable, d, length, arrays)) if has_places else \
            array.elements if d == 0 else None
        dims.append(names.name(wish, length, there, variable.name if variable.varies else ""))
        renamed[wish] = dims[-1]
        if has_places and there:
            places[dims[-1]] = there
    coords = {renamed[dim] + coord[len(dim):]: (renamed[dim], values) for coord, (dim, values) in array.coords.items()}
    if array.owners is not None:
        coords.update(_of_owners(array.owners, dims[0], names))
    return _Named(variable, tuple(dims), array.data, places, coords)


def _of_owners(owners, dim, names):
    """Coordinates of the dimension of these blocks, called as in files."""
    ranks, numbers = np.array([owner[:2] for owner in owners], "i4").T
    coords = {f"{dim}_rank": (dim, ranks), f"{dim}_number": (dim, numbers)}
    if owners[0].level is not None:
        lows = np.array([owner.low for owner in owners], "i8")
        coords[f"{dim}_level"] = (dim, np.array([owner.level for owner in owners], "i4"))
        coords[f"{dim}_lo"] = ((dim, names.name("axis", lows.shape[1])), lows)
    return coords


def _mapping(iteration, named, attrs, beside):
    coords, units = {}, {}
    for name, array in named.items():
        coords.update(array.coords)
        for dim, places in array.places.items():
            coords[dim], units[dim] = (dim, places.values(array.data.shape[array.dims.index(dim)])), places.unit
        units[name] = array.variable.unit
        if name in beside:
            coords[name] = (array.dims if array.data.ndim > 1 else array.dims[0], array.data)
    ds = Arrays({name: array.data for name, array in named.items() if name not in beside}, attrs, units, coords)
    return ds, ds._expire


def _labelled(iteration, named, attrs, beside, products, vectors):
    model = iteration.model
    variables, coords = vectors
    coords.update({"iteration": xarray().Variable((), iteration.number, ITERATION), **_time_of(iteration)})
    held = list(variables)
    for name, array in named.items():
        is_index = array.dims == (name,)  # xarray keeps its values
        data = array.data.copy() if is_index else array.data
        made = xarray().Variable(array.dims, data, {**array.variable.attributes, **axis_of(model, array.variable)}, fastpath=True)
        (coords if is_index or name in beside else variables)[name] = made
        if not is_index:
            held.append(name)
        coords.update(array.coords)
        for dim, places in array.places.items():
            count = data.shape[array.dims.index(dim)]
            coords[dim] = xarray().Variable((dim,), places.values(count), places.attributes)
            _add_bounds(coords, dim, places.bounds(count))
    ds = xarray().Dataset({**variables, **products}, coords, attrs)
    say_where = {c.name for array in named.values() for c in coordinates_of(model, array.variable)}
    if say_where := say_where.intersection(variables):
        ds = ds.set_coords(sorted(say_where))
    kept, number = [ds.variables[name] for name in held], iteration.number
    return ds, lambda: _expire(kept, held, number)


def _add_bounds(coords, dim, bounds):
    """Of cells, as CF has them."""
    if bounds is not None:
        coords[dim].attrs["bounds"] = f"{dim}_bnds"
        coords[f"{dim}_bnds"] = xarray().Variable((dim, "bnds"), bounds)


def _time_of(iteration):
    time = iteration.model.time
    if time is None:  # a parameter of that name
        value = iteration.parameters.get("time")
        return {"time": value} if isinstance(value, (int, float)) else {}
    return {} if iteration.time is None else {"time": time_variable(time, (), iteration.time)}


def time_variable(time, dims, values):
    """Of coordinates.Time: as dates, where it counts from one."""
    made = xarray().Variable(dims, values, time.attributes)
    if time.counts_from_a_date:
        try:
            made = xarray().decode_cf(xarray().Dataset({"time": made}))["time"].variable
        except (ImportError, OverflowError, ValueError):  # a calendar that is not installed, or no date of it
            pass
    return made


def _expire(variables, names, number):
    for variable, name in zip(variables, names):
        variable._data = Expired(name, number, variable._data)

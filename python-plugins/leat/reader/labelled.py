# SPDX-License-Identifier: Apache-2.0
"""`run["T"]`: a variable over all iterations as an xarray.DataArray, whose values are read when they are asked for."""
import numpy as np

from ..scripting.coordinates import ITERATION, beside
from ..scripting.datasets import time_variable, xarray
from .facts import NotThere
from .held import iteration_of, read_held
from .needs import lacks


def array_over_iterations(source, facts, variable, file):
    if xarray() is None:
        number = facts.iterations[-1] if facts.iterations else 0
        raise lacks(f'run["{variable.name}"] is an xarray.DataArray; without xarray there is run[{number}]["{variable.name}"]', "xarray",
                    "it is not installed")
    if not facts.iterations or not (variable.is_constant or variable.iterations):
        raise NotThere(f'nothing of variable "{variable.name}" is stored in {file} yet')
    return _of_blocks(source, variable) if variable.name in facts.tables else _of_rows(source, facts, variable)


def _of_rows(source, facts, variable):
    """Named as a script sees one iteration, with a dimension of iterations in front."""
    first = variable.iterations[0] if variable.iterations else facts.iterations[0]
    known = facts.variables
    here = [name for name in beside(facts.model, [variable.name])
            if name in known and known[name].is_in(first)]
    held = read_held(source, facts, [variable.name, *here], first)
    one = iteration_of(facts, first, held).dataset([variable.name], "xarray")[0][variable.name]
    if variable.is_constant:
        return one.drop_vars(["iteration", "time"], errors="ignore")
    lazy = _lazy(_Rows(source, variable, facts.iterations))
    fits = one.shape == variable.shape  # coordinates of an array that grows are those of one iteration
    coords = {key: each.variable for key, each in one.coords.items() if fits and key not in ("iteration", "time")}
    return _labelled(variable, ("iteration", *one.dims), lazy, one.attrs, {**coords, **_of_iterations(facts)})


def _of_blocks(source, variable):
    """As they lie in the file, one behind the other over all iterations, with the owner of each. There may be places between them where
    other variables have a block, and this one none."""
    def work(stored):
        each = stored.variables[variable.name]
        return (each.length, *each.largest), each.dimensions(), each.owners(), each.has_blocks()
    shape, dims, owners, has = source.read(work)
    coords = {f"{dims[0]}_{key}": (dims[0], values) for key, values in owners.items()}
    made = _labelled(variable, dims, _lazy(_Whole(source, variable, shape)), variable.attributes, coords)
    return made if has.all() else made.isel({dims[0]: np.flatnonzero(has)})


def _labelled(variable, dims, data, attributes, coords):
    """By way of a dataset: a DataArray that is made of a Variable reads all of it."""
    return xarray().Dataset({variable.name: xarray().Variable(dims, data, dict(attributes))}, coords)[variable.name]


def _of_iterations(facts):
    coords = {"iteration": xarray().Variable(("iteration",), np.array(facts.iterations, "i8"), ITERATION)}
    if facts.times is not None and facts.model.time is not None:
        coords["time"] = time_variable(facts.model.time, ("iteration",), facts.times)
    return coords


def _lazy(array):
    from xarray.core import indexing
    return indexing.LazilyIndexedArray(_backend(array))


def _backend(array):
    from xarray.backends import BackendArray
    from xarray.core import indexing

    class Stored(BackendArray):
        """What xarray reads from: shape, dtype, and values at an index."""
        shape, dtype = array.shape, array.dtype

        def __getitem__(self, key):
            return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, array.read)

        def __reduce__(self):
            return _backend, (array,)
    return Stored()


class _Rows:
    """One array in each iteration. Rows are found by the numbers of these, since a view that is made anew may have others between them."""

    def __init__(self, source, variable, numbers):
        self._source, self._name, self._numbers = source, variable.name, np.array(numbers)
        self.shape, self.dtype = (len(numbers), *variable.shape), variable.dtype

    def read(self, key):
        wanted = self._numbers[key[0]]
        slices, rest = _apart(key[1:], self.shape[1:])

        def work(stored):
            row_of = {number: row for row, number in enumerate(stored.iterations)}
            return stored.variables[self._name].rows([row_of[number] for number in np.atleast_1d(wanted).tolist()], slices)
        return _at((0 if np.ndim(wanted) == 0 else slice(None), *rest), self._source.read(work))


class _Whole:
    """A dataset as it is."""

    def __init__(self, source, variable, shape):
        self._source, self._name, self.shape, self.dtype = source, variable.name, shape, variable.dtype

    def read(self, key):
        slices, rest = _apart(key, self.shape)
        return _at(rest, self._source.read(lambda stored: stored.variables[self._name].values(slices)))


def _apart(key, shape):
    """Slices that go forwards, which is what HDF5 reads at once, and what of these was wanted."""
    pairs = [_apart_along(each, length) for each, length in zip(key, shape)]
    return tuple(one for one, _ in pairs), tuple(other for _, other in pairs)


def _apart_along(index, length):
    if isinstance(index, slice):
        places = range(*index.indices(length))
        if len(places) == 0:
            return slice(0, 0), slice(None)
        if places.step > 0:
            return slice(places.start, places[-1] + 1, places.step), slice(None)
        return slice(places[-1], places.start + 1, -places.step), slice(None, None, -1)
    if np.ndim(index) == 0:
        at = int(index) % length
        return slice(at, at + 1), 0
    places = np.asarray(index) % length
    if not places.size:
        return slice(0, 0), slice(None)
    return slice(int(places.min()), int(places.max()) + 1), places - places.min()


def _at(index, values):
    """One dimension after the other, the last one first."""
    for axis in reversed(range(len(index))):
        values = values[(slice(None),) * axis + (index[axis],)]
    return values

# SPDX-License-Identifier: Apache-2.0
"""Vectors of the XML in datasets: components that are variables of their own, with a dimension in front that says which."""
import numpy as np

COMPONENT = "component"
AXES = ("x", "y", "z")


def vectors_of(variables):
    """{name: its components, Variables}, of those that have all of them: leat_vector of a component is "velocity[0]"."""
    found = {}
    for variable in variables:
        name, bracket, number = variable.attributes.get("leat_vector", "").rpartition("[")
        if bracket:
            found.setdefault(name, {})[int(number.rstrip("]"))] = variable
    return {name: [parts[i] for i in range(len(parts))] for name, parts in found.items() if sorted(parts) == list(range(len(parts)))}


def expect_alike(name, shapes):
    if len(set(shapes)) > 1:
        raise ValueError(f'vector "{name}": its components have the shapes {", ".join(map(str, shapes))} here, and make one array only '
                         "where these are the same; take the components")


def stacked(name, arrays):
    """One array: of NumPy's a copy, of Dask's none."""
    expect_alike(name, [array.shape for array in arrays])
    if all(isinstance(array, np.ndarray) for array in arrays):
        return np.stack(arrays)
    import dask.array
    return dask.array.stack(arrays)


def without_copy(name, arrays):
    """As xarray takes it: what is asked for is copied then, and a single component not at all. Of Dask's arrays one of those."""
    if not all(isinstance(array, np.ndarray) for array in arrays):
        return stacked(name, arrays)
    from xarray.backends import BackendArray
    from xarray.core import indexing  # BackendArray and this are what xarray's page on writing a backend has
    expect_alike(name, [array.shape for array in arrays])

    class Components(BackendArray):
        shape, dtype = (len(arrays), *arrays[0].shape), arrays[0].dtype

        def __getitem__(self, key):
            return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._part)

        def _part(self, key):
            which, inside = key[0], key[1:]
            if not isinstance(which, slice):
                return arrays[which][inside]
            return np.stack([array[inside] for array in arrays])[which]
    return indexing.LazilyIndexedArray(Components())

# SPDX-License-Identifier: Apache-2.0
"""What one script made of a stored run: <output>/<script>.h5, with what /scripts/<script> of a live run's file has."""
import numpy as np

from .model import fill_of

_NO_COORDINATES = "This is a netCDF dimension but not a netCDF variable.%10d"  # as netCDF-4 names such scales


class ResultFile:
    """<name> (iteration, dims...) for each result, and the iterations of the rows. What a row does not have is fill value.
    Opens with xarray.open_dataset. The file is made with the first row."""

    def __init__(self, path):
        self._path, self._file = path, None
        self._rows = 0

    def add(self, iteration, results):
        """A row of outputs.results_of(). ValueError for results that could not be stored; the others are there."""
        if self._file is None:
            self._create()
        wrong = [why for result in results if (why := self._write(*result))]
        self._rows += 1
        for dataset in self._datasets.values():
            dataset.resize(self._rows, axis=0)
        self._iteration.resize(self._rows, axis=0)
        self._iteration[-1] = iteration
        self._file.flush()
        if wrong:
            raise ValueError("; ".join(wrong))

    def close(self):
        if self._file is not None:
            self._file.close()

    def _create(self):
        import h5py
        self._file = h5py.File(self._path, "x", track_order=True)  # through no link
        self._datasets, self._scales = {}, {}
        self._iteration = self._file.create_dataset("iteration", (0,), "i4", maxshape=(None,), chunks=(1024,))
        self._iteration.attrs["long_name"] = _text("number of the simulation's iteration")
        self._iteration.attrs["units"] = _text("1")
        self._iteration.make_scale("iteration")

    def _write(self, name, array, dims, units):
        dataset = self._datasets.get(name)
        if dataset is None:
            dataset = self._datasets[name] = self._make(name, array, dims, units)
        if dataset.ndim != array.ndim + 1 or dataset.dtype != array.dtype:
            first = ", ".join(str(n) for n in dataset.shape[1:])
            return f'"{name}" has another type or number of dimensions than at first, where one iteration was ({first})'
        self._grow(dataset, (self._rows + 1, *np.maximum(dataset.shape[1:], array.shape).astype(int)))
        dataset[(self._rows, *(slice(0, n) for n in array.shape))] = array
        return ""

    def _grow(self, dataset, shape):
        dataset.resize(shape)
        for dim, length in list(zip(dataset.dims, shape))[1:]:
            if length > dim[0].shape[0]:
                dim[0].resize(length, axis=0)

    def _make(self, name, array, dims, units):
        fill = np.full(1, fill_of(array.dtype), array.dtype)
        dataset = self._file.create_dataset(name, (0, *array.shape), array.dtype, maxshape=(None,) * (array.ndim + 1),
                                            chunks=True, fillvalue=fill[0])
        if units:
            dataset.attrs["units"] = _text(units)
        dataset.attrs["_FillValue"] = fill
        dataset.dims[0].attach_scale(self._iteration)
        for d, length in enumerate(array.shape):
            dataset.dims[d + 1].attach_scale(self._scale_for(name, dims[d], length))
        return dataset

    def _scale_for(self, result, wished, length):
        """One of the name and length: results of different lengths have different dimensions."""
        name, number = wished, 1
        while name == result or name in self._file:
            if name in self._scales and self._scales[name].shape == (length,):
                return self._scales[name]
            number += 1
            name = f"{wished}_{number}"
        scale = self._scales[name] = self._file.create_dataset(name, (length,), "f4", maxshape=(None,), chunks=(1024,))
        scale.make_scale(_NO_COORDINATES % length)
        return scale


def _text(text):
    """As the store writes attributes: with their bytes in the object itself, which all tools read."""
    import h5py
    coded = text.encode()
    return np.array(coded, h5py.string_dtype("utf-8", max(1, len(coded))))

# SPDX-License-Identifier: Apache-2.0
"""Blocks of amr meshes in xarray. `import leat.amr` gives each dataset `ds.leat`, in a script and of a file that is opened:

    import leat.amr, xarray
    with xarray.open_dataset("run.h5") as ds:
        fine = ds.leat.on_level(2)              # the blocks of that level
        grid = ds.leat.uniform(level=1)         # one array of each variable, (iteration, y, x)
"""
import numpy as np
import xarray

__all__ = ["Leat"]


@xarray.register_dataset_accessor("leat")
class Leat:
    """`ds.leat`: what Leat's datasets have beside what xarray knows."""

    def __init__(self, ds):
        self._ds = ds

    def on_level(self, level):
        """The dataset with the blocks of one level only, of all amr meshes; what is on none stays as it is."""
        ds = self._ds
        for table in self._tables():
            keep = ds[f"{table}_level"].values == level
            chosen, done = {table: keep}, set()
            for name in self._ragged(table):
                dim = ds[name].dims[0]
                counts = _counts(ds[f"{name}_count"].values)
                if dim not in done:
                    chosen[dim] = np.repeat(keep, counts)
                done.add(dim)
            ds = ds.drop_vars(f"{table}_count", errors="ignore").isel({dim: np.flatnonzero(mask) for dim, mask in chosen.items()})
        return ds

    def uniform(self, level=0, iteration=None):
        """Each variable on an amr mesh as one array with the cells of `level`, which covers all of its blocks: finer values are
        averaged down, coarser ones are repeated where there is nothing finer, and NaN is where there is nothing. Of one
        iteration, or of all of the dataset, along a dimension `iteration` where it has several. Coordinates are the centres of
        cells."""
        made = {}
        for table in self._tables():
            ragged = self._ragged(table)
            for name, variable in self._ds.data_vars.items():
                if variable.dims[:1] == (table,) and variable.ndim == self._axes(table) + 1 or name in ragged:
                    made[name] = self._covering(_Patches(self._ds, name, table, name in ragged), level, iteration)
        if not made:
            raise ValueError("the dataset has no variables on an amr mesh")
        return xarray.Dataset(made)

    def _tables(self):
        """Dimensions of the blocks of amr meshes."""
        names = (name[:-len("_level")] for name in map(str, self._ds.variables) if name.endswith("_level"))
        return [name for name in names if name in self._ds.dims and f"{name}_lo" in self._ds.variables]

    def _axes(self, table):
        return self._ds[f"{table}_lo"].shape[1]

    def _ragged(self, table):
        """Variables whose blocks have sizes of their own; only files say which."""
        return [name for name, variable in self._ds.data_vars.items()
                if _text(variable.attrs.get("leat_blocks")) == table and _text(variable.attrs.get("leat_layout")) == "varying"
                and f"{name}_count" in self._ds.variables]

    def _covering(self, stored, level, iteration):
        ds, name, table = self._ds, stored.name, stored.table
        attrs = ds[f"{table}_level"].attrs
        ratio = int(attrs.get("leat_ratio", 2))
        of = ds[f"{table}_iteration"].values if f"{table}_iteration" in ds.variables else np.zeros(ds.sizes[table])
        numbers = np.unique(of) if iteration is None else [iteration]
        each = [stored.of(np.flatnonzero(of == number)) for number in numbers]
        low, high = _bounds([patch for patches in each for patch in patches], level, ratio)
        arrays = [_uniform(patches, level, ratio, low, high) for patches in each]
        dims = list(ds[name].dims[1:]) if len(low) == ds[name].ndim - 1 else ["z", "y", "x"][-len(low):]
        coords = {}
        if "leat_spacing" in attrs:
            for dim, first, count, origin, spacing in zip(dims, low, high - low, np.atleast_1d(attrs["leat_origin"]),
                                                          np.atleast_1d(attrs["leat_spacing"])):
                coords[dim] = origin + (first + np.arange(count) + .5) * spacing / ratio ** level
        kept = {key: value for key, value in ds[name].attrs.items() if not key.startswith("leat_")}
        if iteration is not None or len(arrays) == 1:
            return xarray.DataArray(arrays[0], coords, dims, attrs=kept)
        return xarray.DataArray(np.stack(arrays), {"iteration": numbers.astype("i8"), **coords}, ["iteration", *dims], attrs=kept)


class _Patches:
    """The blocks of a variable on an amr mesh; what is said of all of them is read once."""

    def __init__(self, ds, name, table, ragged):
        self.name, self.table = name, table
        self._ds, self._ragged = ds, ragged
        self._levels, self._lows = ds[f"{table}_level"].values, ds[f"{table}_lo"].values
        self._extents = ds[f"{name}_extent"].values if f"{name}_extent" in ds.variables else None
        if ragged:
            counts = _counts(ds[f"{name}_count"].values)
            self._starts = np.concatenate([[0], np.cumsum(counts)])
            self._there = counts > 0
        else:
            self._there = ds[f"{name}_stored"].values if f"{name}_stored" in ds.variables else np.ones(len(self._levels))

    def of(self, chosen):
        """[(level, first cell, values)] of those with these numbers in the table."""
        chosen = [int(i) for i in chosen if self._there[i]]
        values = map(self._list, chosen) if self._ragged else self._equal(chosen)
        return [(int(self._levels[i]), self._lows[i].astype("i8"), part) for i, part in zip(chosen, values)]

    def _list(self, i):
        part = self._ds[self.name][self._starts[i]:self._starts[i + 1]].values
        return part if self._extents is None else part.reshape(self._extents[i].astype("i8"))

    def _equal(self, chosen):
        """Blocks of one size, or at the beginning of a place of one size."""
        for i, part in zip(chosen, self._ds[self.name].isel({self.table: chosen}).values):
            yield part if self._extents is None else part[tuple(slice(0, int(n)) for n in self._extents[i])]


def _counts(stored):
    """Of elements; none where the variable lacks the block, which xarray makes NaN of."""
    return np.maximum(np.nan_to_num(stored, nan=0), 0).astype("i8")


def _text(value):
    return value.decode() if isinstance(value, bytes) else value


def _at_level(low, high, of, level, ratio):
    """The cells of `level` that cells of level `of` from `low` to before `high` lie in."""
    if of <= level:
        return low * ratio ** (level - of), high * ratio ** (level - of)
    return low // ratio ** (of - level), -(-high // ratio ** (of - level))


def _bounds(patches, level, ratio):
    if not patches:
        raise ValueError("there are no blocks")
    boxes = [_at_level(low, low + values.shape, of, level, ratio) for of, low, values in patches]
    return np.min([low for low, _ in boxes], 0), np.max([high for _, high in boxes], 0)


def _uniform(patches, level, ratio, low, high):
    """One array of the cells of `level` from `low` to before `high`."""
    whole = np.full(high - low, np.nan, np.result_type(float, *(values.dtype for *_, values in patches)))
    for of, at, values in sorted(patches, key=lambda patch: patch[0]):
        if of <= level:
            for axis in range(values.ndim):
                values = values.repeat(ratio ** (level - of), axis)
            whole[_part(at * ratio ** (level - of) - low, values.shape)] = values
    total, weight = np.zeros_like(whole), np.zeros(whole.shape)
    for at, part, part_weight in _averaged(patches, level, ratio):
        cut = _part(at - low, part.shape)
        total[cut] += part
        weight[cut] += part_weight
    finer = np.where(weight > 0, total / np.where(weight > 0, weight, 1), 0)
    mixed = np.where(np.isnan(whole), finer, weight * finer + (1 - weight) * whole)
    return np.where(weight > 0, np.where(weight >= 1, finer, mixed), whole)


def _averaged(patches, level, ratio):
    """What is finer than `level`, there: [(first cell, sum of values by their share of the cell, their share)], to be added up.
    From the finest level on, a level's cells count by the share that nothing finer lies on."""
    finest = max((of for of, *_ in patches), default=level)
    parts = []
    for of in range(finest, level, -1):
        own = []
        for _, at, values in (patch for patch in patches if patch[0] == of):
            share = np.ones(values.shape)
            for other, _, weight in parts:
                begin, end = np.maximum(other, at), np.minimum(other + weight.shape, at + values.shape)
                if (begin < end).all():
                    share[_part(begin - at, end - begin)] -= weight[_part(begin - other, end - begin)]
            share = np.clip(share, 0, None)
            own.append((at, np.where(share > 0, values, 0) * share, share))
        parts = [_coarser(part, ratio) for part in parts + own]
    return parts


def _coarser(part, ratio):
    at, total, weight = part
    low, high = at // ratio, -(-(at + total.shape) // ratio)
    def summed(array):
        room = np.zeros((high - low) * ratio, array.dtype)
        room[_part(at - low * ratio, array.shape)] = array
        return room.reshape([n for size in high - low for n in (size, ratio)]).mean(tuple(range(1, 2 * len(low), 2)))
    return low, summed(total), summed(weight)


def _part(first, shape):
    return tuple(slice(int(a), int(a) + int(n)) for a, n in zip(first, shape))

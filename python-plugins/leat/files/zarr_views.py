# SPDX-License-Identifier: Apache-2.0
"""Virtual datasets as arrays of Zarr: a grid whose chunks are ranges of bytes of the files that have the values.

A view shows boxes of other datasets. Zarr wants chunks of one size. So either the chunks of these datasets are those of a grid over the
view, as they are, and may be compressed; or, where they are not compressed, the grid is as coarse as all borders of boxes and chunks allow
(their greatest common divisor), and as values of one of its chunks lie side by side in the file."""
import itertools
import math
import os
from dataclasses import dataclass

import h5py
import numpy as np

from .reading import CannotRead, opened
from .zarr_arrays import MOST_PIECES, Storage, fill_of

_LEAST_BYTES, _FEW = 1024, 1000  # smaller chunks are taken when there are few
_ONE_FILE = "; `leat merge` makes one file of the parts, which has a grid of its own"


class Parts:
    """The files that a view shows, open. folder: that of the view."""

    def __init__(self, folder):
        self._folder, self._files, self._storages = folder, {}, {}

    def close(self):
        for file in self._files.values():
            file.close()

    def path_of(self, name):
        return os.path.join(self._folder, name)

    def storage(self, name, dataset):
        """The Storage of a dataset in a part."""
        if (name, dataset) not in self._storages:
            if name not in self._files:
                self._files[name] = opened(self.path_of(name))
            found = self._files[name].get(dataset)
            if not isinstance(found, h5py.Dataset):
                raise CannotRead(f"{name} has no dataset {dataset}")
            self._storages[name, dataset] = Storage(found)
        return self._storages[name, dataset]


@dataclass
class Box:
    """What of a dataset is shown where. runs: for each dimension of the view, [(first in the view, first in the source, length)], cut where
    the source has another chunk. slot: (dimension of the source that the view does not have, the place there), or None."""
    name: str
    storage: Storage
    runs: list
    slot: tuple

    @property
    def piece(self):
        """Of the storage, in dimensions of the view."""
        return self._without_slot(self.storage.piece)

    @property
    def extents(self):
        return self._without_slot(self.storage.shape)

    def _without_slot(self, shape):
        return shape if self.slot is None else shape[:self.slot[0]] + shape[self.slot[0] + 1:]

    def in_source(self, places, at_slot):
        """These of the view's dimensions as places in the source."""
        return tuple(places) if self.slot is None else (*places[:self.slot[0]], at_slot, *places[self.slot[0]:])


def view_pieces(dataset, parts, dtype):
    """(chunks, filters, {place: (file, offset, bytes)}) of a virtual dataset; CannotRead where no grid fits."""
    boxes = [box for source in dataset.virtual_sources() if (box := _box(source, dataset, parts, dtype))]
    if not boxes or 0 in dataset.shape:
        return tuple(max(extent, 1) for extent in dataset.shape), [], {}
    filters = boxes[0].storage.filters
    if any(box.storage.filters != filters for box in boxes):
        raise CannotRead("its parts are compressed in different ways" + _ONE_FILE)
    chunks, cut = boxes[0].piece, _whole_pieces
    if not all(_has_pieces(box, chunks, dataset.shape) for box in boxes):
        if filters:
            raise CannotRead("its blocks are compressed, and their chunks do not lie on a grid" + _ONE_FILE)
        chunks, cut = _common_chunks(dataset.shape, boxes), _cut_pieces
    _expect_few(boxes, chunks, dtype.itemsize)
    found = {}
    for box in boxes:
        for place, where in cut(box, chunks):
            if place in found:
                raise CannotRead("boxes of it overlap")
            found[place] = (box.name, *where)
    return chunks, filters, found


def _box(source, dataset, parts, dtype):
    """None of one without values."""
    storage = parts.storage(source.file_name, source.dset_name)
    there = storage.dataset
    if there.dtype != dataset.dtype:
        raise CannotRead(f"{source.file_name} has it as {there.dtype}, others as {dtype}")
    if np.asarray(there.fillvalue, dtype).tobytes() != fill_of(dataset, dtype)[1]:
        raise CannotRead(f"{source.file_name} has another fill value than the attribute _FillValue says")
    shown, places = _listed(source.vspace, dataset.shape), _listed(source.src_space, there.shape)
    if any(len(each) == 0 for each in shown):
        return None
    if any(each[-1] >= extent for each, extent in zip(places, there.shape, strict=True)):
        raise CannotRead(f"{source.file_name} has fewer values than the view shows: `leat view` makes it anew")
    slot = None
    if "leat_patches" in there.attrs and len(places) == len(shown) + 1:
        at = 0 if "leat_constant" in there.attrs else 1
        slot = (at, int(places.pop(at)[0]))
    if [len(each) for each in shown] != [len(each) for each in places]:
        raise CannotRead("a box of it has another shape in the file than in the view")
    box = Box(source.file_name, storage, [], slot)
    box.runs = [_runs(*each) for each in zip(shown, places, box.piece, strict=True)]
    return box


def _listed(space, shape):
    """Places along each dimension that are selected: a product of such lists is what Leat selects."""
    kind = space.get_select_type()
    if kind == h5py.h5s.SEL_ALL:
        return [np.arange(extent) for extent in shape]
    if kind != h5py.h5s.SEL_HYPERSLABS or not space.is_regular_hyperslab():
        raise CannotRead("it is put together of other pieces than boxes" + _ONE_FILE)
    return [(start + stride * np.arange(count)[:, None] + np.arange(block)).ravel()
            for start, stride, count, block in zip(*space.get_regular_hyperslab(), strict=True)]


def _runs(shown, places, piece):
    """What follows each other in both, and is in one piece of the source."""
    is_begin = np.ones(len(shown), bool)
    is_begin[1:] = (np.diff(shown) != 1) | (np.diff(places) != 1) | (places[1:] % piece == 0)
    begins = np.flatnonzero(is_begin)
    lengths = np.diff(np.append(begins, len(shown)))
    return list(zip(shown[begins].tolist(), places[begins].tolist(), lengths.tolist(), strict=True))


def _has_pieces(box, chunks, shape):
    """Whether pieces of the source are chunks of the view as they are. One may end where the view does, or where its dataset does: HDF5
    itself has fill values there until the dataset is longer."""
    if box.piece != chunks or (box.slot is not None and box.storage.piece[box.slot[0]] != 1):
        return False
    return all(shown % each == 0 and there % each == 0 and (length == each or shown + length == most or there + length == extent)
               for runs, each, most, extent in zip(box.runs, chunks, shape, box.extents, strict=True) for shown, there, length in runs)


def _whole_pieces(box, chunks):
    """(place in the view, (offset, bytes)) of each that is there."""
    for runs in itertools.product(*box.runs):
        there = [run[1] // each for run, each in zip(runs, chunks, strict=True)]
        found = box.storage.range_of(box.in_source(there, box.slot[1] if box.slot else 0))
        if found:
            yield tuple(run[0] // each for run, each in zip(runs, chunks, strict=True)), found


def _common_chunks(shape, boxes):
    """The largest that end where boxes and pieces of all sources do, and whose values lie side by side there."""
    chunks = list(shape)
    for box in boxes:
        for d, runs in enumerate(box.runs):
            chunks[d] = math.gcd(chunks[d], *(n for shown, _, length in runs for n in (shown, length)))
    is_whole = False
    while not is_whole:
        is_whole = all([_lies_in_one(box, chunks) for box in boxes])
    return tuple(chunks)


def _lies_in_one(box, chunks):
    """Whether a chunk does; else it is made thinner, as it must be."""
    extents, piece, within = box.in_source(chunks, 1), box.storage.piece, True
    thin = [d if box.slot is None or d < box.slot[0] else d - 1 for d in range(len(piece))]
    changed = False
    for d in reversed(range(len(piece))):
        if within:
            within = extents[d] == piece[d]
        elif extents[d] != 1:
            chunks[thin[d]], changed = 1, True
    return not changed


def _cut_pieces(box, chunks):
    """(place in the view, (offset, bytes))."""
    piece, size = box.storage.piece, math.prod(chunks) * box.storage.itemsize
    steps = [[(shown + at, there + at) for shown, there, length in runs for at in range(0, length, each)]
             for runs, each in zip(box.runs, chunks, strict=True)]
    for step in itertools.product(*steps):
        there = box.in_source([each[1] for each in step], box.slot[1] if box.slot else 0)
        found = box.storage.range_of(tuple(at // each for at, each in zip(there, piece, strict=True)))
        if found:
            within = np.ravel_multi_index([at % each for at, each in zip(there, piece, strict=True)], piece) if piece else 0
            yield (tuple(shown // each for (shown, _), each in zip(step, chunks, strict=True)),
                   (found[0] + int(within) * box.storage.itemsize, size))


def _expect_few(boxes, chunks, itemsize):
    count = sum(math.prod(sum(-(-length // each) for _, _, length in runs) for runs, each in zip(box.runs, chunks, strict=True))
                for box in boxes)
    size = math.prod(chunks) * itemsize
    if count > MOST_PIECES or (count > _FEW and size < _LEAST_BYTES):
        raise CannotRead(f"borders of its blocks leave no larger chunks than {size} bytes, {count} of them" + _ONE_FILE)

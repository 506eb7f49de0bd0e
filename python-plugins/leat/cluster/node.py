# SPDX-License-Identifier: Apache-2.0
"""What a worker of the cluster gives of its own server's memory: a chunk is a view of the simulation's memory wherever one block is all of
it. Only while its lease lasts: what is asked for later is an error, and never another iteration."""
import threading

import numpy as np

from ..scripting.views import ExpiredError

_lock = threading.Lock()
_leases = {}  # {token: Iteration}
copied = 0    # bytes, by chunks that are more than one block


def lend(token, iteration):
    with _lock:
        _leases[token] = iteration


def end(token):
    """No chunk is made afterwards, and none is being made."""
    with _lock:
        _leases.pop(token, None)


def chunk(token, name, part, is_kept=False):
    """The task: an array of this variable in the iteration of the lease. part: see arrays.py. is_kept: it lasts longer than that."""
    with _lock:
        iteration = _leases.get(token)
        if iteration is None:
            raise ExpiredError(f'"{name}" was asked for after the call that it was for: its memory is the simulation\'s again. Keep '
                               "results, like ds[name].mean().compute(), not Dask's arrays")
        made = _PARTS[part["kind"]](_some(iteration.blocks(name), part.get("of")), part)
        if is_kept and not made.flags.owndata:
            made = made.copy()
    made.setflags(write=False)
    return made


def _some(blocks, of):
    """All, or the one of this rank with this number."""
    return blocks if of is None else [block for block in blocks if [block.rank, block.block] == of]


def _box(blocks, part):
    """The cells of a box of the whole, which these blocks fill."""
    low, shape = part["low"], tuple(part["shape"])
    inside = [block for block in blocks if _is_in(block, low, shape)]
    if len(inside) == 1 and inside[0].data.shape == shape:
        return inside[0].data
    made = _empty(shape, blocks[0].data.dtype)
    for block in inside:
        made[tuple(slice(p - at, p - at + n) for p, at, n in zip(block.position, low, block.data.shape))] = block.data
    return made


def _is_in(block, low, shape):
    return all(at <= p and p + n <= at + size for p, n, at, size in zip(block.position, block.data.shape, low, shape))


def _rows(blocks, part):
    """All elements, one block after the other."""
    parts = [block.data.reshape(-1) if part["flat"] else block.data for block in blocks]
    if len(parts) == 1:
        return parts[0]
    made = _empty((sum(map(len, parts)), *parts[0].shape[1:]), parts[0].dtype)
    return np.concatenate(parts, out=made)


def _side_by_side(blocks, part):
    """Each block in a place of its own, of this shape."""
    shape = tuple(part["shape"])
    if len(blocks) == 1 and blocks[0].data.shape == shape:
        return blocks[0].data[np.newaxis]
    made = _empty((len(blocks), *shape), blocks[0].data.dtype)
    for place, block in zip(made, blocks):
        if block.data.shape != shape:
            place[...] = part["fill"]
        place[tuple(map(slice, block.data.shape))] = block.data
    return made


def _empty(shape, dtype):
    global copied
    made = np.empty(shape, dtype)
    copied += made.nbytes
    return made


_PARTS = {"box": _box, "rows": _rows, "side by side": _side_by_side}

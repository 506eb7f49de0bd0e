# SPDX-License-Identifier: Apache-2.0
"""Read-only views of memory that the simulation gets back after the call.

A view must not outlive its block: the memory will hold other data. NumPy cannot be told that an array has ended, so two
things are done at the end of each call. What a script reaches through `ds` is replaced by something that raises. And
arrays that are still alive, wherever the script keeps them, get the pages under them replaced by a private copy: they
go on holding the right numbers, and the call counts as failed with a message that names the variable.
"""
import ctypes
import gc
import math
import mmap
import os
import weakref

import numpy as np

_PAGE = mmap.PAGESIZE
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.mremap.restype = ctypes.c_void_p
_libc.mremap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]
_MAP_FAILED = ctypes.c_void_p(-1).value
_MREMAP_MAYMOVE, _MREMAP_FIXED = 1, 2  # as Linux has them: mremap(2)


class ExpiredError(RuntimeError):
    """An array of an iteration was used, or kept, after the call that it was for."""


class SharedMemory:
    """A file mapped read-only, and the views of it that were given away in the current call."""

    def __init__(self, descriptor):
        self._descriptor = descriptor
        self.number = os.fstat(descriptor).st_ino  # of the file
        self._map = None
        self._given = []  # (name, weak reference to the array that all views of it are based on)

    def view(self, name, offset, dtype, extent):
        """A read-only array on the file's memory; nothing is copied. Takes the same time for any size."""
        count = math.prod(extent)
        if count == 0:
            nothing = np.empty(extent, dtype)
            nothing.setflags(write=False)
            return nothing
        end = offset + count * dtype.itemsize
        if self._map is None or end > len(self._map):
            self._map_again()
        base = np.frombuffer(self._map, dtype=dtype, count=count, offset=offset)
        self._given.append((name, weakref.ref(base)))
        return base.reshape(extent)

    def take_back(self, collect=True):
        """Ends the views of this call. Returns the names of those that somebody kept; they are private copies now. collect: those
        that only circles of garbage hold are not kept; finding that out takes some 10 ms."""
        given, self._given = self._given, []
        if all(base() is None for _, base in given):
            return []
        if collect:
            gc.collect()  # cycles may be all that holds them
        kept = [(name, base()) for name, base in given if base() is not None]
        for _, base in kept:
            _make_private(base)
        if kept:
            self._map = None  # its kept parts no longer show the simulation's memory
        return sorted({name for name, _ in kept})

    def close(self):
        os.close(self._descriptor)
        self._map = None

    def _map_again(self):
        size = os.fstat(self._descriptor).st_size
        self._map = mmap.mmap(self._descriptor, size, mmap.MAP_SHARED, mmap.PROT_READ)


class SharedMemories:
    """The files that arrays of a run lie in: "segment", "constants", and others by the path that leatd gives, which is that of a
    descriptor of its: it may be another file's by now."""
    _MOST = 16  # that are kept open between calls

    def __init__(self, segment, constants):
        self._files = {"segment": SharedMemory(os.open(segment, os.O_RDONLY | os.O_CLOEXEC)), "constants": SharedMemory(constants)}

    def of(self, name):
        file = self._files.get(name)
        if name in ("segment", "constants") or file is not None and file.number == os.stat(name).st_ino:
            return file
        if file is not None:
            self._files.pop(name).close()
        file = self._files[name] = SharedMemory(os.open(name, os.O_RDONLY | os.O_CLOEXEC))
        return file

    def take_back(self, collect=True):
        """As of SharedMemory, of all of them."""
        kept = [name for file in self._files.values() for name in file.take_back(collect)]
        for path in list(self._files)[2:-self._MOST]:
            self._files.pop(path).close()
        return kept


def _make_private(array):
    """At once: other threads may read it meanwhile."""
    if array.nbytes == 0:
        return
    start = array.__array_interface__["data"][0]
    first = start // _PAGE * _PAGE
    count = -(-(start + array.nbytes) // _PAGE) * _PAGE - first
    copy = _libc.mmap(None, count, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    if copy == _MAP_FAILED:
        raise OSError(ctypes.get_errno(), "cannot keep a copy of an array")
    ctypes.memmove(copy, first, count)
    _libc.mprotect(copy, count, mmap.PROT_READ)
    if _libc.mremap(copy, count, count, _MREMAP_MAYMOVE | _MREMAP_FIXED, ctypes.c_void_p(first)) != first:
        raise OSError(ctypes.get_errno(), "cannot keep a copy of an array")


class Expired:
    """Stands in the place of an array that has ended."""

    def __init__(self, name, iteration, array):
        self._what = f'"{name}" of iteration {iteration}'
        self.shape, self.dtype, self.ndim, self.size = array.shape, array.dtype, array.ndim, array.size

    def _raise(self, *_, **__):
        raise ExpiredError(f"{self._what} was used after the call that it was for: its memory is the simulation's again. "
                           "Keep a copy, like ds.copy(deep=True), or use ctx.window(n)")

    __array__ = __getitem__ = __array_ufunc__ = __array_function__ = _raise

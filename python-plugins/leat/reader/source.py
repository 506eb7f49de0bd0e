# SPDX-License-Identifier: Apache-2.0
"""One file as all of this process read it, also while it grows.

HDF5 remembers where the pieces of a dataset lie. Of a file that is being written this goes out of date, in the midst of a read too, and
pieces that are not where HDF5 looks are shown as fill values, without a word. So a file is opened anew once it has changed, and what was
read while it changed counts only when a second look says the same."""
import contextlib
import os
import threading
import time
import warnings
import weakref

import numpy as np

from ..files.reading import CannotRead
from ..scripting.model import Model
from .writer import is_written

_TRIES, _PAUSE = 10, 0.02  # a commit takes less
_QUIET = 0.02              # seconds; times of files are as exact as this
_sources, _making = weakref.WeakValueDictionary(), threading.Lock()


def source_of(path):
    """The Source of this file, one for all: HDF5 gives two that open a file in one process the same memory of it, and none of them would
    see anything new as long as the other has it open."""
    with _making:
        real = os.path.realpath(path)
        source = _sources.get(real)
        if source is None:
            source = _sources[real] = Source(path)
        return source


class Source:
    """A file of the hdf5 store, or a view. Threads may use it at the same time: one of them reads."""

    def __init__(self, path):
        self.path = os.fspath(path)
        self._lock, self._stored, self._stamps, self._is_closed = threading.RLock(), None, None, False

    def __reduce__(self):
        """In another process it is what that one has of the file."""
        return source_of, (self.path,)

    def close(self):
        """Lets go of the file; the next read opens it."""
        with self._lock:
            if self._stored is not None:
                self._stored.close()
            self._stored = None

    def __del__(self):
        """What is read of it refers to itself in circles, and would be open until Python looks for such."""
        with contextlib.suppress(Exception):  # the end of Python
            self.close()

    def expect_unshared(self):
        """After close(): a warning where somebody else in this process has it open, so that nothing new will be seen."""
        import h5py
        try:
            own = _stamp(self.path)[:2]
            names = [each.name for each in h5py.h5f.get_obj_ids(h5py.h5f.OBJ_ALL, h5py.h5f.OBJ_FILE)]
        except (OSError, TypeError, ValueError):
            return
        if any(_stamp(name)[:2] == own for name in names if os.path.exists(name)):
            warnings.warn(f"{self.path} is open in this process by other means too, as by h5py or xarray: HDF5 shows what was there then; "
                          "close it there to see what is new", RuntimeWarning, stacklevel=4)

    def read(self, work, agrees=None):
        """What work(stored: StoredRun) returns: arrays, or what has such in it. It may be called several times: while the file changes,
        until agrees(earlier, later) of two of them, which are the same() where nothing else is said; then it is the earlier."""
        agrees = agrees or same
        with self._lock:
            last = None
            for tries in range(_TRIES):
                try:
                    self._open()
                    value = work(self._stored)
                except (OSError, RuntimeError, ValueError, KeyError, IndexError, TypeError, CannotRead) as error:
                    if not self._may_be_read_again(error, tries):
                        raise
                    time.sleep(_PAUSE)
                    continue
                if self._is_at_rest():
                    return value
                if last is not None and agrees(last[0], value):
                    return last[0]
                self.close()
                last = (value,)
            raise OSError(f"{self.path} is written faster than it can be read: {_TRIES} looks at it have never shown the same")

    def _may_be_read_again(self, error, tries):
        """In the midst of a commit."""
        is_closed = self._stored is not None and self._is_closed
        self.close()
        is_sure = isinstance(error, CannotRead) and not is_written(self.path)
        return not is_closed and not is_sure and tries + 1 < _TRIES

    def _open(self):
        from ..scripting.stored_run import StoredRun
        if self._stored is not None and (self._is_closed or self._stamps_now() == self._stamps):
            return
        self.close()
        stamp = _quiet_stamp(self.path)
        self._stored = StoredRun(self.path, with_errors=True, protects=False)
        self._is_closed = _is_closed(self._stored.file)
        self._stamps = [stamp, *map(_quiet_stamp, [] if self._is_closed else self._stored.parts)]

    def _is_at_rest(self):
        """Nobody has changed anything since before it was opened."""
        return self._is_closed or (None not in self._stamps and self._stamps_now() == self._stamps)

    def _stamps_now(self):
        return [_stamp(self.path), *map(_stamp, self._stored.parts)]


def _is_closed(file):
    """Its run has ended, or goes on in another file."""
    return "lost" in file.attrs or int(file.attrs.get("leat_finished", 0)) == 1


def _stamp(path):
    try:
        about = os.stat(path)
    except OSError:
        return None
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns


def _quiet_stamp(path):
    """None where it is changed all the time: two changes may have the same time."""
    stamp = _stamp(path)
    if stamp is not None and 0 <= time.time() - stamp[3] / 1e9 < _QUIET:
        time.sleep(_QUIET)
        later = _stamp(path)
        return stamp if later == stamp else None
    return stamp


def same(one, other):
    """To the last bit."""
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and (one.dtype, one.shape) == (other.dtype, other.shape) and one.tobytes() == other.tobytes()
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, Model):  # of the same text
        return True
    if hasattr(one, "__dict__") and not callable(one):
        return same(vars(one), vars(other))
    return one == other

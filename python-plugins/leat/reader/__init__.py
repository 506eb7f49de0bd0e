# SPDX-License-Identifier: Apache-2.0
"""The reader of stored runs: leat.open(). It is for blocks of ranks, particles, patches and meshes, which readers of HDF5 would have to
put together themselves. Files need it not."""
import time as _time

__all__ = ["open"]
_LOOK = 0.05


def open(path, wait=0):
    """A Run: what a store of type "hdf5" has written, or is writing, to look at; see help(leat.reader.run.Run).

    path: the file, the view of a run of several servers or of one that splits its output, or a folder that has one of these. wait: so many
    seconds it waits for a file that is not there yet, as that of a run that begins.
    FileNotFoundError, or leat.CannotRead for what is no file of Leat, or a part of one, with what to open in its place; ImportError where
    this Python has no h5py."""
    try:
        import h5py  # noqa: F401
    except ImportError as error:
        from .needs import lacks
        raise lacks("files are read with h5py", "h5py", error) from None
    from ..files.reading import CannotRead
    from .found import file_of
    from .run import Run
    until = _time.monotonic() + wait
    while True:
        try:
            return Run(file_of(path))
        except (FileNotFoundError, CannotRead):
            if _time.monotonic() >= until:
                raise
        _time.sleep(_LOOK)

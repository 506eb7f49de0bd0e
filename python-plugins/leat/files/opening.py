# SPDX-License-Identifier: Apache-2.0
"""Opening the file of a run, or the view of one: what can be read as a whole, and nothing that HDF5 would make up."""
import os

from .reading import CannotRead, is_of_locks, may_open, opened, text_of


def run_file(path):
    """The h5py.File of a whole run; CannotRead for all else, with what to open in its place."""
    try:
        import h5py
    except ImportError as error:
        from ..scripting.interpreters import without
        raise CannotRead("the file is read with h5py: " + without("h5py", error, "--interpreter {}")) from None
    try:
        open(path, "rb").close()
    except OSError as error:
        raise CannotRead(f"cannot read {path}: {error.strerror}") from None
    if not h5py.is_hdf5(path):
        raise CannotRead(f"{path} is no HDF5 file; what a store of type \"hdf5\" has written can be read")
    file = opened(path)
    why = _why_no_run(file, path)
    if why:
        file.close()
        raise CannotRead(why)
    return file


def _why_no_run(file, path):
    if text_of(file, "leat_layout") == "damaris":
        return (f'{path} is the file of one iteration, of a store with layout="damaris"; those of a store without that option can be read, '
                "which have the whole run")
    if "leat_view" in file.attrs and int(file.attrs.get("leat_node_ranks", 0)) != int(file.attrs["ranks"]):
        return _part_of(file, path)
    if "leat_run" not in file.attrs:
        return f"{path} is an HDF5 file, but not of a store of Leat: it has no attribute \"leat_run\""
    return ""


def _part_of(file, path):
    """Of a file of one node, or of servers that share it: what to take in its place. Its blocks lie in slots, which only the view puts
    where they belong."""
    parts = os.path.dirname(os.path.abspath(path))
    view = os.path.normpath(os.path.join(parts, "..", "..", text_of(file, "leat_view")))
    ranks = f"{int(file.attrs['leat_node_ranks'])} of the {int(file.attrs['ranks'])} ranks" if "leat_node_ranks" in file.attrs else "a part"
    return (f"{path} has only what one node of several has written ({ranks} of the run); take the view of all nodes: "
            + (view if os.path.exists(view) else f"`leat view {parts}` makes it, {view}"))


def parts_of(file, path):
    """Paths of the files that a view shows; CannotRead where one cannot be opened, for which HDF5 shows fill values. It opens them as it
    does by default, however the view was opened, and all that it has come to are open at once."""
    import h5py
    if "leat_parts" not in file.attrs:
        return []
    folder, parts = os.path.dirname(os.path.abspath(path)), set()
    file.visititems(lambda _, found: parts.update(source.file_name for source in found.virtual_sources())
                    if isinstance(found, h5py.Dataset) and found.is_virtual else None)
    paths = [os.path.join(folder, part) for part in sorted(parts - {"."})]  # that is the view itself
    if not may_open(len(paths)):
        raise CannotRead(f"{path} is a view of {len(paths)} files, and this process may not have so many open: `ulimit -n` sets how many, "
                         "and `leat merge` makes one file of them")
    for part in paths:
        try:
            h5py.File(part, "r").close()
        except OSError as error:
            about = f"{path} is a view, and its part {os.path.relpath(part, folder)} cannot be read: {error}. "
            if is_of_locks(error):
                raise CannotRead(about + "Where there are no locks, set HDF5_USE_FILE_LOCKING=FALSE in the environment before this Python "
                                 "starts: HDF5 looks for it only then") from None
            raise CannotRead(about + "The view and the folder of its parts belong together; `leat view` makes one of the parts that are "
                             "there") from None
    return paths


def datasets_in(file):
    """By name. Not what is in /VTKHDF: those are second names of variables."""
    import h5py
    names = []
    for top in file:
        if top == "VTKHDF" or not isinstance(file.get(top, getlink=True), h5py.HardLink):
            continue
        names.append(top)
        if isinstance(file[top], h5py.Group):
            file[top].visit(lambda name, top=top: names.append(f"{top}/{name}"))
    return {name: file[name] for name in names if isinstance(file[name], h5py.Dataset)}

# SPDX-License-Identifier: Apache-2.0
"""Which file is meant: one, or the only output of a run in a folder."""
import os

from ..files.reading import CannotRead, opened, text_of, why_no_file
from ..names import did_you_mean

ENDINGS = (".h5", ".hdf5", ".hdf", ".he5", ".nc", ".nc4", ".vtkhdf")  # as `leat ls` takes them
_MOST_NAMED = 12


def file_of(path):
    """Its path; FileNotFoundError, or CannotRead with what there is in its place."""
    path = os.fspath(path)
    if not os.path.exists(path):
        folder = os.path.dirname(path) or "."
        beside = _outputs_in(folder) if os.path.isdir(folder) else []
        raise FileNotFoundError(f"there is no file {path}{did_you_mean(os.path.basename(path), beside[:_MOST_NAMED])}")
    if os.path.isdir(path):
        return _only_one_in(path)
    why = why_no_file(path)
    if why:
        raise CannotRead(f"{path} {why}")
    return path


def _outputs_in(folder):
    return sorted(name for name in os.listdir(folder) if name.endswith(ENDINGS) and not name.startswith("."))


def _only_one_in(folder):
    names, views = [], set()
    for name in _outputs_in(folder):
        kind, view = _kind_of(os.path.join(folder, name))
        if kind == "part":
            views.add(os.path.normpath(os.path.join(folder, "..", "..", view)))
        elif kind == "run":
            names.append(name)
    paths = [os.path.join(folder, name) for name in names] or sorted(views)
    if len(paths) == 1:
        return paths[0]
    if not paths:
        raise CannotRead(f"{folder} has no file of a store of type \"hdf5\" of Leat")
    more = f" and {len(paths) - _MOST_NAMED} more" if len(paths) > _MOST_NAMED else ""
    raise CannotRead(f"{folder} has {len(paths)} outputs; say which: {', '.join(paths[:_MOST_NAMED])}{more}")


def _kind_of(path):
    """("run", ""), ("part", name of its view), or ("", "")."""
    try:
        with opened(path) as file:
            view = text_of(file, "leat_view")
            if view:
                return "part", view
            return ("run" if "leat_run" in file.attrs else ""), ""
    except OSError:
        return "", ""

# SPDX-License-Identifier: Apache-2.0
"""Whether somebody writes a file, by what lies beside it: the lock of its writer, on file systems without locks the name of its owner, and
the shared memory of its session. docs/design/hdf5-file.md has the names."""
import fcntl
import os
import platform

from ..control import lives

_OWNER_FIELDS = 3  # host, process, when that was started


def is_written(path):
    """By a server that lives. The lock is shared for a moment, which writers allow for."""
    folder, name = os.path.split(os.path.abspath(path))
    return _is_locked(os.path.join(folder, f".{name}.lock")) or _has_owner(os.path.join(folder, f".{name}.owner"))


def is_run_going_on(path, session, parts_folder=""):
    """Of the run of this file or view: one of its servers writes, or ranks of it live on this node, and start the next one. parts_folder:
    of a view, where the files of its servers are."""
    return is_written(path) or (bool(session) and lives(session)) or any(map(is_written, _begun_in(parts_folder)))


def _begun_in(folder):
    """Paths of files that have, or had, a writer."""
    try:
        names = os.listdir(folder) if folder else []
    except OSError:
        return []
    ends = (".lock", ".owner")
    return sorted({os.path.join(folder, os.path.splitext(name)[0][1:]) for name in names if name.startswith(".") and name.endswith(ends)})


def _is_locked(path):
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    except OSError:  # no locks here
        return False
    finally:
        os.close(descriptor)


def _has_owner(path):
    """Of a process of another host it is not known whether it lives."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            fields = file.read(512).split()
    except OSError:
        return False
    if len(fields) < _OWNER_FIELDS or not fields[1].isdigit():
        return False
    return fields[0] != platform.node() or os.path.exists(f"/proc/{fields[1]}")

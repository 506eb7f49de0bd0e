# SPDX-License-Identifier: Apache-2.0
"""Files are read in a process of their own: over a damaged one the HDF5 library may crash, or never come back."""
import os
import resource
import signal
import stat
import sys
import traceback

_SPARE_FILES = 16


class CannotRead(Exception):
    """The text says why."""


def prepare():
    """Before h5py is imported. No locks: there are file systems that have none, and who looks at a file must not keep others from
    it. As many files at once as this process may have: a view of a thousand parts has that many. A crash leaves nothing behind."""
    os.environ["HDF5_USE_FILE_LOCKING"] = "FALSE"
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def why_no_h5py():
    """"" when there is h5py."""
    try:
        import h5py  # noqa: F401
    except ImportError as error:
        from ..scripting.interpreters import without
        return "files are read with h5py: " + without("h5py", error, "--interpreter {}")
    return ""


def apart(work, hear=None):
    """Runs work() in a process of its own, which gives its lines to hear(line) where that is said. Returns its exit status, or a text
    that says how it was killed."""
    sys.stdout.flush()
    lines, end = os.pipe() if hear else (None, None)
    child = os.fork()
    if child == 0:
        _be_child(work, end)
    if hear:
        os.close(end)
        with os.fdopen(lines, encoding="utf-8", errors="replace") as heard:
            for line in heard:
                hear(line)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status >= 0:
        return status
    return "" if status == -signal.SIGPROF else signal.strsignal(-status)


class Command:
    """A command of `leat` that reads files: what is wrong is said as "leat <verb>: ...", and makes its exit status 1."""

    def __init__(self, verb):
        self._verb = verb

    def run(self, work, damaged):
        """The exit status of work(), in a process of its own. damaged(ended): the words for where the HDF5 library `ended` badly."""
        prepare()
        why = why_no_h5py()
        if why:
            return self.complain(why)
        ended = apart(work)
        if isinstance(ended, int):
            return ended
        return self.complain(damaged("the HDF5 library " + (f"crashed ({ended})" if ended else "does not come to an end")))

    def of_file(self, path, work):
        """work(), or 1 where the file cannot be read."""
        try:
            return work()
        except (CannotRead, OSError) as error:
            return self.complain(error)
        except (ValueError, KeyError, RuntimeError, IndexError, TypeError) as error:
            return self.complain(f"{path}: it is damaged: {type(error).__name__}: {error}")

    def complain(self, why):
        print(f"leat {self._verb}: {why}", file=sys.stderr)
        return 1


def _be_child(work, end):
    status = 1
    try:
        if end is not None:
            os.dup2(end, sys.stdout.fileno())
        status = work()
        sys.stdout.flush()
    except BrokenPipeError:
        pass
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def expect_life(seconds):
    """From now on so much processor time is given to what comes, up to the next call; then the process is killed. To wait for a slow
    disk costs none."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)


def why_no_file(path):
    """"" or "is a pipe, and no file": HDF5 would wait for that."""
    kinds = {stat.S_IFDIR: "folder", stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket"}
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return ""  # what opens it says why
    return "" if stat.S_ISREG(mode) else f"is a {kinds.get(stat.S_IFMT(mode), 'device')}, and no file"


def opened(path):
    """An h5py.File for reading, as everybody opens one: HDF5 wants that all who have a file open in one process do it in the same way.
    Without a lock where there are none."""
    import h5py
    try:
        return h5py.File(path, "r")
    except OSError as error:
        if not is_of_locks(error):
            raise
    return h5py.File(path, "r", locking=False)


def may_open(count):
    """Whether this process may have so many more files open; the limit is raised as far as that is allowed and needed."""
    needed = len(os.listdir("/proc/self/fd")) + count + _SPARE_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and needed > soft:
        if hard != resource.RLIM_INFINITY and needed > hard:
            return False
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
    return True


def is_of_locks(error):
    return "lock" in str(error)


def text_of(thing, name):
    """A text attribute; "" where there is none that can be read."""
    if name not in thing.attrs:
        return ""
    try:
        value = thing.attrs[name]
    except (OSError, TypeError, ValueError, KeyError):
        return ""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value if isinstance(value, str) else ""

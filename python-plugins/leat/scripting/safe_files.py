# SPDX-License-Identifier: Apache-2.0
"""Files in folders to which others may be able to write, as those of a project mostly are for a group: nothing is opened
through a link of theirs, and nothing that is theirs is written to. Hard links are the kernel's matter
(fs.protected_hardlinks)."""
import contextlib
import os
import stat

_TRIES = 8


class Folder:
    """Held open, and made where there is none; names are those of files in it."""

    def __init__(self, path):
        os.makedirs(path, exist_ok=True)
        about = os.lstat(path)
        if stat.S_ISLNK(about.st_mode) and about.st_uid not in (os.geteuid(), 0):
            raise PermissionError(f"{path} is a link of another user: nothing is written there")
        self._descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self._descriptor)

    def open(self, name, mode, **options):
        """As open() does, but "w" leaves what is in the file. What has the name and is no file, but a link or the like, is
        removed. PermissionError for a file of another user."""
        for _ in range(_TRIES):
            file = self._try(name, mode, options)
            if file is not None:
                return file
            os.unlink(name, dir_fd=self._descriptor)
        raise PermissionError(f"{name}: somebody else puts things there: nothing is written")

    def _try(self, name, mode, options):
        def opener(path, flags):
            flags = (flags & ~os.O_TRUNC) | os.O_NOFOLLOW | os.O_NONBLOCK
            return os.open(path, flags, 0o666, dir_fd=self._descriptor)
        try:
            file = open(name, mode, opener=opener, **options)
        except OSError:
            if not self._is_file(name):
                return None
            raise
        about = os.fstat(file.fileno())
        if stat.S_ISREG(about.st_mode) and about.st_uid == os.geteuid():
            return file
        file.close()
        if stat.S_ISREG(about.st_mode):
            raise PermissionError(f"{name} belongs to another user: nothing is written to it")
        return None

    def _is_file(self, name):
        try:
            return stat.S_ISREG(os.stat(name, dir_fd=self._descriptor, follow_symlinks=False).st_mode)
        except FileNotFoundError:
            return True

    def has(self, name, file):
        """The open file is the one that has the name."""
        try:
            return os.path.samestat(os.fstat(file.fileno()), os.stat(name, dir_fd=self._descriptor, follow_symlinks=False))
        except FileNotFoundError:
            return False

    def rename(self, name, to):
        os.replace(name, to, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)

    def link(self, name, to, comes_before):
        """A symbolic link `name` to the file `to` beside it, in the place of the one that is there if comes_before(its target). Nothing
        where something else has the name, and on file systems without links."""
        with contextlib.suppress(OSError):  # also of readlink: it is no link
            with contextlib.suppress(FileNotFoundError):
                if not comes_before(os.readlink(name, dir_fd=self._descriptor)):
                    return
            part = f".{name}.{os.uname().nodename}.{os.getpid()}"
            self.remove(part)
            os.symlink(to, part, dir_fd=self._descriptor)
            self.rename(part, name)

    def remove(self, name):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._descriptor)

# SPDX-License-Identifier: Apache-2.0
"""Files that commands make of the file of a run, beside it or elsewhere. Each comes in one step, so that readers always find a whole one,
and replaces only an older one that was made of the same file."""
import glob
import json
import os
import secrets
import time

from .reading import CannotRead


def beside(path, ending):
    """The name of the file that is made of this one, where none is given: "run.xmf" of "run.h5"."""
    folder, name = os.path.split(path)
    return os.path.join(folder, os.path.splitext(name)[0] + ending)


def temporary_of(sidecar, mark):
    """The name that it has until it is whole. mark: no other maker of the same one has it."""
    folder, name = os.path.split(sidecar)
    return os.path.join(folder, f".{name}.{mark}.part")


def made_by(command, options, ending, make):
    """The exit status of a command that makes one of options.file, at options.output or beside it: make(options, made, temporary)."""
    made = options.output or beside(options.file, ending)
    temporary = temporary_of(made, secrets.token_hex(8))

    def damaged(ended):
        remove(temporary)
        return f"{options.file}: {ended}: it is damaged; `leat ls` says where"
    return command.run(lambda: command.of_file(options.file, lambda: make(options, made, temporary)), damaged)


def expect_free(made, file, is_own):
    """is_own(): whether what is there is of the same command and file."""
    if os.path.lexists(made) and not is_own():
        raise CannotRead(f"{made} is there, and is not what this command has made of {os.path.basename(file)}: move it away, or give "
                         "another name with -o")


def say(options, facts, line, left_out):
    """facts as JSON where that is asked for, else the line, and what was left out. Returns the exit status."""
    print(json.dumps({**facts, "left_out": left_out}, ensure_ascii=False, sort_keys=True) if options.json else
          "\n  without ".join([line, *left_out]))
    return 0


def counted(number, what):
    return f"{number} {what}{'s' * (number != 1)}"


def remove(path):
    try:
        os.unlink(path)
    except OSError:
        pass


def remove_old_parts(sidecar):
    """What a maker that was killed has left: none takes an hour between two writes."""
    folder, name = os.path.split(sidecar)
    for part in glob.glob(os.path.join(glob.escape(folder), f".{glob.escape(name)}.*.part")):
        try:
            if time.time() - os.lstat(part).st_mtime > 3600:
                os.unlink(part)
        except OSError:
            pass


def begins_with(path, text):
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    with open(descriptor, "rb") as file:
        return file.read(len(text.encode())) == text.encode()


def replace(path, temporary, parts):
    """With these texts."""
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise CannotRead(f"{path} could not be made: cannot write {temporary}: {error.strerror}") from None
    try:
        with open(descriptor, "w", encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            file.writelines(parts)
        os.replace(temporary, path)
    except BaseException:
        remove(temporary)
        raise

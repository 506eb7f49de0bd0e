# SPDX-License-Identifier: Apache-2.0
"""The command `leat xdmf FILE...`: makes the XDMF sidecar of each, "run.xmf" beside "run.h5", with all of its steps in XDMF
2. It refers to its file by name, so that the two go everywhere together.
Exit status: 0 all are made, 1 some could not be."""
import argparse
import glob
import json
import os
import secrets
import time

from . import reading
from .reading import CannotRead

_COMMAND = reading.Command("xdmf")


def main():
    options = _parser().parse_args()
    mark = secrets.token_hex(8)  # no other maker of the same sidecar has it

    def damaged(ended):
        for file in options.files:
            _remove(_temporary_of(file, mark))
        return f"{ended}: a file is damaged; `leat ls` says which"
    return _COMMAND.run(lambda: max(_make(file, options.json, mark) for file in options.files), damaged)


def _parser():
    parser = argparse.ArgumentParser(
        prog="leat xdmf", allow_abbrev=False,
        description="Makes the XDMF sidecar of a file, run.xmf beside run.h5, for tools that do not read /VTKHDF.",
        epilog="Exit codes: 0 the sidecars are made; 1 one could not be; 2 the command line is wrong.")
    parser.add_argument("files", nargs="+", metavar="FILE", help="What a store of type hdf5 has written, or a view")
    parser.add_argument("--json", action="store_true", help="Print JSON, a line for each file")
    parser.add_argument("--interpreter", metavar="PYTHON", help="Python with h5py (default: python3 in PATH)")
    return parser


def _make(path, as_json, mark):
    return _COMMAND.of_file(path, lambda: _say(path, as_json, *make_sidecar(path, _temporary_of(path, mark))))


def _say(path, as_json, steps, left_out):
    if as_json:
        print(json.dumps({"left_out": left_out, "sidecar": sidecar_of(path), "steps": steps}, ensure_ascii=False))
        return 0
    print(f"{sidecar_of(path)}: {steps} step{'s' * (steps != 1)}")
    for what in left_out:
        print(f"  without the {what}")
    return 0


def sidecar_of(path):
    folder, name = os.path.split(path)
    return os.path.join(folder, os.path.splitext(name)[0] + ".xmf")


def _temporary_of(path, mark):
    folder, name = os.path.split(sidecar_of(path))
    return os.path.join(folder, f".{name}.{mark}.part")


def _remove(path):
    try:
        os.unlink(path)
    except OSError:
        pass


def make_sidecar(path, temporary):
    """Replaces none but an older one of the same file. temporary: the name that the new one has until it is whole. Returns the number
    of steps, and what it does not show: a sentence each."""
    from .stored import Stored
    from .xdmf_document import LONGEST_SILENCE, Document, head_of
    reading.expect_life(LONGEST_SILENCE)
    name, sidecar = os.path.basename(path), sidecar_of(path)
    document = Document(Stored(path), name)
    left_out = sorted(document.left_out)
    if not document.rows:
        raise CannotRead(f"{path} has nothing that is on a mesh and can be shown" + "".join(f"\n  without the {what}" for what in left_out))
    if os.path.lexists(sidecar) and not _begins_with(sidecar, head_of(name)):
        raise CannotRead(f"{sidecar} is there, and is not the sidecar of {name}: move it away, or give the run another name with "
                         "file=\"...\"")
    _remove_old_parts(sidecar)
    _replace(sidecar, temporary, document.parts())
    return len(document.rows), left_out


def _remove_old_parts(sidecar):
    """What a maker that was killed has left: none takes an hour between two writes."""
    folder, name = os.path.split(sidecar)
    for part in glob.glob(os.path.join(glob.escape(folder), f".{glob.escape(name)}.*.part")):
        try:
            if time.time() - os.lstat(part).st_mtime > 3600:
                os.unlink(part)
        except OSError:
            pass


def _begins_with(path, text):
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    with open(descriptor, "rb") as file:
        return file.read(len(text.encode())) == text.encode()


def _replace(path, temporary, parts):
    """Readers always find a whole file under `path`."""
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise CannotRead(f"{path} could not be made: cannot write {temporary}: {error.strerror}") from None
    try:
        with open(descriptor, "w", encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            file.writelines(parts)
        os.replace(temporary, path)
    except BaseException:
        _remove(temporary)
        raise

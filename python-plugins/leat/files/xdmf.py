# SPDX-License-Identifier: Apache-2.0
"""The command `leat xdmf FILE...`: makes the XDMF sidecar of each, "run.xmf" beside "run.h5", with all of its steps in XDMF
2. It refers to its file by name, so that the two go everywhere together.
Exit status: 0 all are made, 1 some could not be."""
import argparse
import json
import os
import secrets

from . import reading, sidecar
from .reading import CannotRead

_COMMAND = reading.Command("xdmf")


def main():
    options = _parser().parse_args()
    mark = secrets.token_hex(8)  # no other maker of the same sidecar has it

    def damaged(ended):
        for file in options.files:
            sidecar.remove(sidecar.temporary_of(sidecar_of(file), mark))
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
    return _COMMAND.of_file(path, lambda: _say(path, as_json, *make_sidecar(path, sidecar.temporary_of(sidecar_of(path), mark))))


def _say(path, as_json, steps, left_out):
    if as_json:
        print(json.dumps({"left_out": left_out, "sidecar": sidecar_of(path), "steps": steps}, ensure_ascii=False))
        return 0
    print(f"{sidecar_of(path)}: {steps} step{'s' * (steps != 1)}")
    for what in left_out:
        print(f"  without the {what}")
    return 0


def sidecar_of(path):
    return sidecar.beside(path, ".xmf")


def make_sidecar(path, temporary):
    """Replaces none but an older one of the same file. temporary: the name that the new one has until it is whole. Returns the number
    of steps, and what it does not show: a sentence each."""
    from .stored import Stored
    from .xdmf_document import LONGEST_SILENCE, Document, head_of
    reading.expect_life(LONGEST_SILENCE)
    name, made = os.path.basename(path), sidecar_of(path)
    document = Document(Stored(path), name)
    left_out = sorted(document.left_out)
    if not document.rows:
        raise CannotRead(f"{path} has nothing that is on a mesh and can be shown" + "".join(f"\n  without the {what}" for what in left_out))
    if os.path.lexists(made) and not sidecar.begins_with(made, head_of(name)):
        raise CannotRead(f"{made} is there, and is not the sidecar of {name}: move it away, or give the run another name with "
                         "file=\"...\"")
    sidecar.remove_old_parts(made)
    sidecar.replace(made, temporary, document.parts())
    return len(document.rows), left_out

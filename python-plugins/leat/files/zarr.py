# SPDX-License-Identifier: Apache-2.0
"""The command `leat zarr FILE`: references with which the file of a run, or its view with the files of all nodes, is read as a Zarr store,
with no second copy of the values: kerchunk's JSON, version 1.
Exit status: 0 they are made, 1 they could not be."""
import argparse
import json
import os

from . import reading, sidecar
from .reading import CannotRead

_LONGEST_SILENCE = 300  # seconds of processor time
_COMMAND = reading.Command("zarr")


def main():
    return sidecar.made_by(_COMMAND, _parser().parse_args(), ".json", _make)


def _parser():
    parser = argparse.ArgumentParser(
        prog="leat zarr", allow_abbrev=False,
        description="Makes references with which the file of a run is read as a Zarr store, without a second copy of its values.",
        epilog="Exit codes: 0 the references are made; 1 they could not be; 2 the command line is wrong.")
    parser.add_argument("file", metavar="FILE", help="What a store of type hdf5 has written, or a view")
    parser.add_argument("-o", "--output", metavar="JSON", help="The references (default: beside the file, with the ending .json)")
    parser.add_argument("--absolute", action="store_true", help="Name files by whole paths, to open the references in any folder")
    parser.add_argument("--json", action="store_true", help="Print JSON")
    parser.add_argument("--interpreter", metavar="PYTHON", help="Python with h5py (default: python3 in PATH)")
    return parser


def _make(options, made, temporary):
    from ..reader.source import source_of
    from .zarr_references import agree, references_of
    reading.expect_life(_LONGEST_SILENCE)
    why = reading.why_no_file(options.file)
    if why:
        raise CannotRead(f"{options.file} {why}")
    found = source_of(options.file).read(lambda stored: references_of(stored.file, options.file), agree)
    if not found.variables:
        raise CannotRead(f"{options.file} has nothing that Zarr can show" + "".join(f"\n  without {what}" for what in found.left_out))
    head = f'{{"leat": {json.dumps("references of " + os.path.basename(options.file))}, '
    sidecar.expect_free(made, options.file, lambda: sidecar.begins_with(made, head))
    sidecar.remove_old_parts(made)
    folder = os.path.dirname(os.path.abspath(made))
    named = os.path.abspath if options.absolute else lambda path: os.path.relpath(path, folder)
    sidecar.replace(made, temporary, found.parts(head, named))
    line = f"{made}: {sidecar.counted(len(found.variables), 'variable')}, {sidecar.counted(found.count, 'piece')}"
    return sidecar.say(options, {"pieces": found.count, "references": made, "variables": len(found.variables)}, line, found.left_out)

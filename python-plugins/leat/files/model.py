# SPDX-License-Identifier: Apache-2.0
"""The command `leat model FILE`: prints XML for Leat that declares what the file has, ready to be edited. Of a file of Leat's own that
is the XML of its run, with what was stored undeclared; of other HDF5 and netCDF-4 files it is made of their datasets.
Exit status: 0 it is printed, 1 the file cannot be read."""
import argparse
import os
import re
import sys

from . import reading
from .model_datasets import found_in, undeclared_in
from .model_document import declarations, document
from .reading import CannotRead, text_of

_MOST_SECONDS = 60  # of processor time
_COMMAND = reading.Command("model")


def main():
    options = _parser().parse_args()
    return _COMMAND.run(lambda: _COMMAND.of_file(options.file, lambda: _print(options)),
                        lambda ended: f"{options.file}: {ended}: the file is damaged")


def _parser():
    parser = argparse.ArgumentParser(
        prog="leat model", allow_abbrev=False,
        description="Prints XML for Leat that declares what an HDF5 or netCDF-4 file has, ready to be edited.",
        epilog="Exit codes: 0 it is printed; 1 the file cannot be read; 2 the command line is wrong.")
    parser.add_argument("file", metavar="FILE", help="An HDF5 or netCDF-4 file, of Leat's or any other program's")
    parser.add_argument("--name", metavar="NAME", help="Name of the simulation (default: that of the file, without its end)")
    parser.add_argument("--from-datasets", action="store_true",
                        help="Of a file of Leat's: made of its datasets, not of the XML that it has")
    parser.add_argument("--interpreter", metavar="PYTHON", help="Python with h5py (default: python3 in PATH)")
    return parser


def _print(options):
    reading.expect_life(_MOST_SECONDS)
    text, notes = xml_of(options.file, options.name, options.from_datasets)
    for note in notes:
        print(f"leat model: {note}", file=sys.stderr)
    sys.stdout.write(text)
    return 0


def xml_of(path, name=None, from_datasets=False):
    """The text, and what is to be said beside it."""
    with _opened(path) as file:
        own = text_of(file, "leat_xml")
        if own and not from_datasets:
            return _of_its_run(own, undeclared_in(file), path)
        name = name or os.path.splitext(os.path.basename(path))[0]
        found = found_in(file)
    if not found.variables:
        raise CannotRead(f"{path} has no dataset that Leat could write" + "".join(f"; {each}" for each in found.left_out))
    return document(found, name, os.path.basename(path)), found.left_out


def _opened(path):
    import h5py
    why = reading.why_no_file(path)
    if why:
        raise CannotRead(f"{path} {why}")
    try:
        with open(path, "rb") as file:
            begin = file.read(4)
    except OSError as error:
        raise CannotRead(f"cannot read {path}: {error.strerror}") from None
    if begin[:3] == b"CDF":
        raise CannotRead(f"{path} is a file of netCDF-3, which is no HDF5: `nccopy -k nc4 {path} new.nc` makes one of netCDF-4 of it")
    if not h5py.is_hdf5(path):
        raise CannotRead(f"{path} is no HDF5 file")
    return reading.opened(path)


def _of_its_run(own, undeclared, path):
    """The XML that the run had; what it did not declare comes at the end of its first <data>."""
    own = own if own.endswith("\n") else own + "\n"
    if not undeclared.variables:
        return own, undeclared.left_out
    lines = ["", f"<!-- Stored undeclared in {os.path.basename(path)} -->", *declarations(undeclared)]
    ends = [each.start() for each in re.finditer(r"</data\s*>", re.sub(r"<!--.*?-->", lambda c: " " * len(c[0]), own, flags=re.S))]
    if not ends:
        note = "the XML of the run has no </data>, behind which to put what was stored undeclared: it is a file of its own, to include"
        return "\n".join(["<data>", *(f"  {line}" for line in lines[1:]), "</data>"]) + "\n", [*undeclared.left_out, note]
    at = own.rfind("\n", 0, ends[0]) + 1
    is_alone = not own[at:ends[0]].strip()
    at, indent = (at, own[at:ends[0]]) if is_alone else (ends[0], "")
    inside = "".join(f"{indent}  {line}".rstrip() + "\n" for line in lines)
    return own[:at] + ("" if is_alone else "\n") + inside + own[at:], undeclared.left_out


if __name__ == "__main__":
    sys.exit(main())

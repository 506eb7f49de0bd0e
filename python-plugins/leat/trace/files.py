# SPDX-License-Identifier: Apache-2.0
"""Which traces a run has, and their bytes."""
import pathlib

from ..planning.words import BAD, Refused
from . import packets

ENDING = ".pftrace"
_OF_OTHERS = ".ledger.json", ".report.json", ".run.json", ".h5", ".hdf5", ".nc", ".vtkhdf", ".xml", ".log"


def of_run(name):
    """Files of all servers of one run: that of the trace which is named, else of the newest one there, if any."""
    path = pathlib.Path(name)
    folder = path if path.is_dir() else path.parent
    heads = {each: _head(each) for each in sorted(folder.glob(f"*{ENDING}")) if each.is_file()}
    heads = {each: head for each, head in heads.items() if head}
    if path.is_file() and path.suffix == ENDING:
        if path not in heads and not _is_joined(path):
            raise Refused(f"{path} is no trace that a server of Leat wrote", BAD)
        if path not in heads:
            return [path]
        runs = {heads[path].run}
    else:
        wanted = [each for each, head in heads.items() if path.is_dir() or head.title.startswith(f"{_simulation(path)} on ")]
        runs = {heads[max(wanted, key=lambda each: each.stat().st_mtime)].run} if wanted else set()
    return [each for each, head in heads.items() if head.run in runs]


def whole(path):
    """Its packets: a server that was killed may have left a part of one at the end."""
    data = _read(path)
    return data[:packets.whole(data)]


def _read(path, most=-1):
    try:
        with open(path, "rb") as file:
            return file.read(most)
    except OSError as error:
        raise Refused(f"cannot read {path}: {error.strerror}", BAD) from None


def _simulation(path):
    name = path.name
    for ending in (*_OF_OTHERS, ENDING):
        name = name.removesuffix(ending)
    return name


def _is_joined(path):
    return _read(path, len(packets.JOINED)) == packets.JOINED


def _head(path):
    """The server that wrote it; None of what is none, or was put together of several."""
    nodes = [] if _is_joined(path) else packets.nodes_of(_read(path, 4096))
    return nodes[0] if nodes else None

# SPDX-License-Identifier: Apache-2.0
"""Runs with plugins in processes of their own."""
import contextlib
import pathlib

import h5py
from leat_run import BUILD, data, same_bits

ROW = '<layout name="row" type="uint8" dimensions="1000"/><variable name="a" layout="row"/>'
OUT = '<store name="out" type="hdf5"/>'
WAIT = 'when-slow="wait"'


def chunks(attributes='runs="idle" ' + WAIT, **options):
    texts = "".join(f'<option name="{key}" value="{value}"/>' for key, value in options.items())
    return f'<store name="pieces" library="{BUILD}/lib/leat/test/chunks.so" {attributes}>{texts}</store>'


def write(run, iterations):
    for iteration in iterations:
        for rank in run.ranks:
            assert rank.write("a", 1000, iteration).ok
            rank.end()


def sums(iterations):
    return [int(data(1000, "u1", i).astype("i8").sum()) for i in iterations]


def stored(folder):
    with h5py.File(folder / "run.h5") as file:
        for place, number in enumerate(file["iteration"][:]):
            assert same_bits(file["a"][place], data(1000, "u1", int(number)))
        return file["iteration"][:].tolist()


def has_stored(folder, iterations):
    """That these are stored; while the file is written it may not be readable."""
    try:
        return stored(folder) == iterations
    except OSError:
        return False


def workers(run):
    """Process ids of the plugins of leatds of this run."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else [b""]
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            if words[0].endswith(b"leat_plugin_worker") and parent in run.known_servers:
                found.append(int(entry.name))
    return found

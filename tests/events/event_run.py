# SPDX-License-Identifier: Apache-2.0
"""Runs with <actions>."""
import h5py
from leat_run import BUILD, data, xml

DATA = '<layout name="row" type="int" dimensions="5"/><variable name="a" layout="row"/>'
LISTENING = f'<store name="ear" library="{BUILD}/lib/leat/test/listening.so"/>'
FUNCTIONS = f"{BUILD}/lib/leat/test/function.so"
HDF5 = '<store name="out" type="hdf5"/>'


def config(events, stores=LISTENING, more="", **others):
    return xml(DATA, store=stores, log=f"<actions>{events}</actions>{more}", **others)


def write(rank, iteration):
    assert rank.write("a", 20, 100 * iteration + rank.number).ok


def step(ranks, iteration, signals=()):
    """One iteration of all ranks; signals: (rank, event), each between the write and the end."""
    for rank in ranks:
        write(rank, iteration)
        for number, event in signals:
            if number == rank.number:
                rank.must("signal", event)
        rank.end()


def lines(folder, name="told.txt"):
    path = folder / name
    return path.read_text().splitlines() if path.exists() else []


def signals(folder, name="told.txt"):
    """What a plugin was told of events, without its iterations."""
    return [line for line in lines(folder, name) if not line.startswith("iteration ")]


def stored(folder, name="run.h5"):
    """Numbers of the iterations in the file."""
    with h5py.File(folder / name) as file:
        return file["iteration"][:].tolist()


def expect_data(folder, iterations, ranks=1):
    from stored_blocks import stored_ranks
    with h5py.File(folder / "run.h5") as file:
        assert file["iteration"][:].tolist() == list(iterations)
        for row, iteration in enumerate(iterations):
            for rank in range(ranks):
                got = stored_ranks(file, "a", row)[rank]
                assert got.reshape(-1).tolist() == data(5, "i4", 100 * iteration + rank).tolist()

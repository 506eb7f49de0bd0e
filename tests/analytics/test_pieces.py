# SPDX-License-Identifier: Apache-2.0
"""Iterations that a plugin does in pieces: on all dedicated cores, each piece once, and what becomes of one that fails."""
import json
import pathlib
import subprocess

import h5py
import pytest
from leat_run import BUILD, Run, xml

ROW = '<layout name="row" type="int" dimensions="5"/><variable name="a" layout="row"/>'
OUT = '<store name="out" type="hdf5"/>'


def store(name="pieces", **options):
    texts = "".join(f'<option name="{key}" value="{value}"/>' for key, value in options.items())
    return f'<store name="{name}" library="{BUILD}/lib/leat/test/pieces.so">{texts}</store>'


def write(run, iterations):
    for iteration in iterations:
        for rank in run.ranks:
            assert rank.write("a", 20, iteration).ok
            rank.end()


def done_in(folder, name="pieces.txt"):
    return [tuple(map(int, line.split())) for line in (folder / name).read_text().splitlines()]


def lost_in(folder):
    entries = json.loads((folder / "run.ledger.json").read_text())["entries"]
    return {entry["iterations"][0] for entry in entries if entry["fate"] == "failed"}


@pytest.mark.parametrize("cores", [1, 3])
def test_pieces_are_done_once_each_on_all_dedicated_cores(tmp_path, cores):
    with Run(tmp_path, xml(ROW, store=OUT + store(meet=cores), cores=cores)) as run:
        run.init()
        write(run, range(5))
        run.finish()
    assert done_in(tmp_path) == [(i, 40, cores) for i in range(5)]
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["products/pieces/done"][:].tolist() == [40] * 5


def test_two_stores_share_the_threads_there_are(tmp_path):
    stores = OUT + store("one", file="one.txt") + store("two", file="two.txt")
    with Run(tmp_path, xml(ROW, store=stores, cores=2)) as run:
        run.init()
        write(run, range(20))
        run.finish()
    for name in ("one.txt", "two.txt"):
        assert [line[:2] for line in done_in(tmp_path, name)] == [(i, 40) for i in range(20)]


@pytest.mark.parametrize("where, words", [("begin", "told to fail in begin"), ("piece", "told to fail in piece 7"),
                                          ("finish", "told to fail in finish")])
@pytest.mark.parametrize("cores", [1, 3])
def test_an_iteration_of_which_a_piece_fails_is_lost_for_this_store_and_the_next_is_done(tmp_path, where, words, cores):
    with Run(tmp_path, xml(ROW, store=OUT + store(fail=where), cores=cores)) as run:
        (rank,) = run.init()
        write(run, range(3))
        (end,) = run.finalize()
        assert end.status == "LEAT_ERROR_LOST" and words in end.error
    assert [line[:2] for line in done_in(tmp_path)] == [(0, 40), (2, 40)]
    assert lost_in(tmp_path) == {1}
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [0, 1, 2]
        assert file["products/pieces/iteration"][:].tolist() == [0, 2]


@pytest.mark.parametrize("cores", [1, 3])
def test_a_piece_that_crashes_the_server_is_not_done_a_third_time(tmp_path, cores):
    with Run(tmp_path, xml(ROW, store=OUT + store(crash=1), cores=cores)) as run:
        (rank,) = run.init()
        write(run, range(4))
        (end,) = run.finalize()
        assert end.status == "LEAT_ERROR_LOST" and "it has crashed in the store 2 times" in " ".join(end.error.split()), end
    assert sorted({line[:2] for line in done_in(tmp_path)}) == [(0, 40), (2, 40), (3, 40)]
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [0, 1, 2, 3]


def test_a_library_that_has_only_some_of_the_calls_is_refused(tmp_path):
    source = tmp_path / "half.c"
    source.write_text('''#include "plugin.h"
static int open_(const leat_run* r, const leat_host* h, void** s) { return 0; }
static int iteration(void* s, const leat_iteration_data* d) { return 0; }
static int close_(void* s) { return 0; }
static int begin(void* s, const leat_iteration_data* d, uint64_t* n) { return 0; }
LEAT_PLUGIN_EXPORT const leat_plugin leat_plugin_entry = {.abi = LEAT_PLUGIN_ABI, .size = sizeof(leat_plugin), .name = "half",
  .open = open_, .iteration = iteration, .close = close_, .begin = begin};
''')
    include = pathlib.Path(__file__).resolve().parents[2] / "server/include"
    subprocess.run(["cc", "-shared", "-fPIC", f"-I{include}", source, "-o", tmp_path / "half.so"], check=True)
    with Run(tmp_path, xml(ROW, store='<store name="half" library="./half.so"/>')) as run:
        (answer,) = [run.ranks[0].init()]
        assert "has one of begin, chunk and finish, and lacks another" in answer.error

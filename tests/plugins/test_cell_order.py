# SPDX-License-Identifier: Apache-2.0
"""The option select-file of a store with layout="damaris": a collective array has the order of its index, judged by h5py."""
import h5py
import numpy as np
import pytest
from leat_plugin import Plugin, variable
from leat_run import same_bits

GLOBAL = {"global": 1}
COLLECTIVE = {"layout": "damaris", "file-mode": "Collective"}
ORDERED = {**COLLECTIVE, "select-file": "CELL: P, g/RS"}
VARIABLES = [variable("CELL", "i4", ["n"], time_varying=0, **GLOBAL), variable("P", "f8", ["n"], **GLOBAL),
             variable("g/RS", "i2", ["n"], **GLOBAL), variable("F", "f8", ["n"], **GLOBAL), variable("T", "f8", ["m", "n"], **GLOBAL)]
CELLS = [np.array(places, "i4") for places in ([7, 0, 4], [3, 9, 1, 5], [8, 2, 6])]  # of three ranks
FIRSTS, WHOLE = (0, 3, 7), 10


def field(rank, iteration):
    """Of P: values that no other rank, cell and iteration has."""
    return 1000. * iteration + CELLS[rank] + 0.001 * rank


def give(plugin, number, values, rank, whole=WHOLE):
    return plugin.values(number, values, rank=rank, position=[FIRSTS[rank]], **{"global": [whole]})


def iteration(plugin, i, cells=CELLS):
    """All of an iteration; the index in the first only."""
    ranks = range(len(cells))
    index = [give(plugin, 0, cells[rank], rank) for rank in ranks] if i == 0 else []
    return [*index, *(give(plugin, 1, field(rank, i), rank) for rank in ranks),
            *(give(plugin, 2, (10 * i + CELLS[rank]).astype("i2"), rank) for rank in ranks),
            *(give(plugin, 3, field(rank, i), rank) for rank in ranks)]


def in_cell_order(i):
    whole = np.empty(WHOLE)
    for rank, cells in enumerate(CELLS):
        whole[cells] = field(rank, i)
    return whole


def begun(folder, **options):
    return Plugin(folder, VARIABLES, options={**ORDERED, **options}, ranks=3)


@pytest.mark.parametrize("options", [{}, {"compression": "deflate:1"}], ids=str)
def test_a_field_is_in_the_order_of_its_index_also_in_later_iterations(tmp_path, options):
    plugin = begun(tmp_path, **options)
    for i in range(3):
        plugin.must(i, *iteration(plugin, i))
    assert not plugin.finish()
    for i in range(3):
        with h5py.File(tmp_path / f"run_It{i}.h5") as file:
            assert file.attrs["iteration_complete"] == 1
            assert same_bits(file["P"][...], in_cell_order(i))
            assert same_bits(file["g/RS"][...], (10 * i + np.arange(WHOLE)).astype("i2"))
            assert same_bits(file["F"][...], np.concatenate([field(rank, i) for rank in range(3)])), "it has no index"
            if i == 0:
                assert same_bits(file["CELL"][...], np.concatenate(CELLS))


def test_a_new_index_counts_from_its_iteration_on(tmp_path):
    plugin = begun(tmp_path)
    plugin.must(0, *iteration(plugin, 0))
    turned = [WHOLE - 1 - cells for cells in CELLS]
    plugin.must(1, *(give(plugin, 0, turned[rank].astype("i4"), rank) for rank in range(3)),
                *(give(plugin, 1, field(rank, 1), rank) for rank in range(3)))
    plugin.finish()
    with h5py.File(tmp_path / "run_It1.h5") as file:
        assert same_bits(file["P"][...], in_cell_order(1)[::-1].copy())


@pytest.mark.parametrize("dtype", ["i1", "i8", "u1", "u2", "u4", "u8"])
def test_an_index_may_be_of_any_integers(tmp_path, dtype):
    variables = [variable("CELL", dtype, ["n"], **GLOBAL), VARIABLES[1]]
    plugin = Plugin(tmp_path, variables, options={**COLLECTIVE, "select-file": "CELL:P"}, ranks=3)
    plugin.must(0, *(give(plugin, 0, CELLS[rank].astype(dtype), rank) for rank in range(3)),
                *(give(plugin, 1, field(rank, 0), rank) for rank in range(3)))
    plugin.finish()
    with h5py.File(tmp_path / "run_It0.h5") as file:
        assert same_bits(file["P"][...], in_cell_order(0))


def test_places_that_nobody_has_are_fill_values_and_that_is_said(tmp_path):
    plugin = begun(tmp_path)
    for i in range(2):
        plugin.must(i, *iteration(plugin, i, CELLS[:2]))
    said = plugin.finish()
    assert said.count('"P": holes: 3 of 10 places are in no rank\'s "CELL"') == 1
    with h5py.File(tmp_path / "run_It1.h5") as file:
        there = np.concatenate(CELLS[:2])
        assert same_bits(file["P"][...][there], in_cell_order(1)[there])
        assert np.isnan(np.delete(file["P"][...], there)).all() and (np.delete(file["g/RS"][...], there) == -2**15).all()


def test_of_two_values_for_a_place_that_of_the_highest_rank_is_stored_and_that_is_said(tmp_path):
    plugin = begun(tmp_path)
    cells = [CELLS[0], CELLS[1], np.array([8, 2, 7], "i4")]
    plugin.must(0, *iteration(plugin, 0, cells))
    assert '"P": 1 places are more than once in "CELL"' in plugin.finish()
    with h5py.File(tmp_path / "run_It0.h5") as file:
        assert file["P"][7] == field(2, 0)[2]


BAD = {"outside": ([7, 0, 10], '"P" of rank 0: "CELL" has the place 10, and the global array 10 from 0 on'),
       "negative": ([7, -1, 4], 'has the place -1'), "short": ([7, 0], '"P" of rank 0 has 3 values, and "CELL" has 2 places'),
       "none": (None, '"P" of rank 0 has no place: the store has not seen "CELL" of that rank')}


@pytest.mark.parametrize("name", BAD)
def test_without_an_index_that_fits_nothing_is_stored_in_a_wrong_order(tmp_path, name):
    """Nor lost: each rank's values are there by themselves, as in the other modes, and the iteration is not called complete."""
    places, why = BAD[name]
    plugin = begun(tmp_path)
    index = [] if places is None else [give(plugin, 0, np.array(places, "i4"), 0)]
    index += [give(plugin, 0, CELLS[rank], rank) for rank in (1, 2)]
    said = plugin.iteration(0, *index, *(give(plugin, 1, field(rank, 0), rank) for rank in range(3)))
    assert why in said and "stored by ranks, /P/P<rank>, each in the order in which it was written" in said, said
    plugin.finish()
    with h5py.File(tmp_path / "run_It0.h5") as file:
        assert file.attrs["iteration_complete"] == 0
        assert all(same_bits(file[f"P/P{rank}"][...], field(rank, 0)) for rank in range(3))


@pytest.mark.parametrize("first", [0, 9])
def test_a_server_that_takes_over_has_the_index_of_the_files(tmp_path, first):
    """The last one where it was written again."""
    plugin = begun(tmp_path)
    turned = [(WHOLE - 1 - cells).astype("i4") for cells in CELLS]
    plugin.must(first, *(give(plugin, 0, turned[rank], rank) for rank in range(3)),
                *(give(plugin, 1, field(rank, 0), rank) for rank in range(3)))
    plugin.must(first + 1, *(give(plugin, 0, CELLS[rank], rank) for rank in range(2)),
                *(give(plugin, 1, field(rank, 0), rank) for rank in range(3)))
    plugin.kill()
    plugin = Plugin(tmp_path, VARIABLES, options=ORDERED, ranks=3, resumed=1)
    plugin.must(first + 2, *(give(plugin, 1, field(rank, 2), rank) for rank in range(3)))
    plugin.finish()
    expected = np.full(WHOLE, np.nan)
    for rank, cells in enumerate([CELLS[0], CELLS[1], turned[2]]):
        expected[cells] = field(rank, 2)
    with h5py.File(tmp_path / f"run_It{first + 2}.h5") as file:
        assert np.array_equal(file["P"][...], expected, equal_nan=True)


def test_a_server_that_takes_over_does_not_guess_the_order(tmp_path):
    """Where parts of the index lay on each other not all of it is in the file."""
    plugin = begun(tmp_path)
    plugin.must(0, *(plugin.values(0, CELLS[rank], rank=rank, position=[0], **{"global": [WHOLE]}) for rank in range(3)),
                *iteration(plugin, 1)[:3])
    plugin.kill()
    plugin = Plugin(tmp_path, VARIABLES, options=ORDERED, ranks=3, resumed=1)
    assert "which was written before the server was restarted" in plugin.iteration(1, *iteration(plugin, 1))
    plugin.finish()
    with h5py.File(tmp_path / "run_It1.h5") as file:
        assert all(same_bits(file[f"P/P{rank}"][...], field(rank, 1)) for rank in range(3))


def test_files_of_blocks_have_the_order_of_the_ranks_as_with_damaris(tmp_path):
    plugin = begun(tmp_path, **{"file-mode": "FilePerCore"})
    plugin.must(0, *iteration(plugin, 0))
    plugin.finish()
    with h5py.File(tmp_path / "run_It0_Pr0.h5") as file:
        for rank in range(3):
            assert same_bits(file[f"P/P{rank}"][...], field(rank, 0)) and same_bits(file[f"CELL/P{rank}"][...], CELLS[rank])


def test_several_nodes_are_told_what_order_their_files_have(tmp_path):
    plugin = Plugin(tmp_path, VARIABLES, options=ORDERED, ranks=3, node_ranks=1, first_rank=0)
    plugin.must(0, give(plugin, 0, CELLS[0], 0), give(plugin, 1, field(0, 0), 0))
    assert "blocks are in it by rank, each in its own order, beside their index" in plugin.finish()
    with h5py.File(tmp_path / "run_It0_Pr0.h5") as file:
        assert same_bits(file["P/P0"][...], field(0, 0))


@pytest.mark.parametrize("text, why", [("CELL", "expected \"INDEX: VARIABLE, ...; INDEX: ...\""), ("CELL: P; P2: P", "expected"),
                                       ("CELL: Q", 'there is no variable "Q"'), ("CEL: P", 'there is no variable "CEL"'),
                                       ("F: P", 'the values of "F" are no integers'), ("CELL: T", '"T" needs a layout of one dimension')])
def test_an_index_that_cannot_be_is_said_at_start(tmp_path, text, why):
    plugin = Plugin(tmp_path, VARIABLES, options={**COLLECTIVE, "select-file": text})
    assert why in plugin.opened, plugin.opened
    plugin.close()

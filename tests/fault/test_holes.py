# SPDX-License-Identifier: Apache-2.0
"""What no rank writes of a global array is fill values in the file: it is said, once, with variable, ranks and boxes."""
import json
import os
import signal

import h5py
import numpy as np
import pytest
from leat_run import Run, data, same_bits, xml

RANKS, ROWS, COLUMNS = 4, 2, 4
LAYOUT = f'<layout name="cells" type="double" dimensions="{ROWS},{COLUMNS}" global="{RANKS * ROWS},{COLUMNS}" names="y,x"{{}}/>'
FIELDS = '<variable name="u" layout="cells"/><variable name="v" layout="cells"/>'
BYTES = ROWS * COLUMNS * 8
SAYS = 'has holes: 24 of the 32 cells of its global array (75 %) are written by no rank'


def write_all(ranks, positions, iterations=3, variables="uv"):
    for rank in ranks:
        for variable in variables:
            rank.must("set_position", variable, 0, positions[rank.number], 0)
    for iteration in range(iterations):
        for rank in ranks:
            for variable in variables:
                assert rank.write(variable, BYTES, 100 * iteration + rank.number).ok
            rank.end()


def warnings(folder, name="run"):
    return json.loads((folder / f"{name}.ledger.json").read_text())["warnings"]


def run_with(folder, positions, attributes="", environment=None, **more):
    """What leatd said, and what leat_finalize of rank 0 printed."""
    with Run(folder, xml(LAYOUT.format(attributes) + FIELDS), ranks=RANKS, environment=environment) as run:
        write_all(run.init(), positions, **more)
        run.finish()
        run.await_end()
        return run.log()


def test_a_position_that_is_the_same_on_all_ranks_is_said_once_for_each_variable(tmp_path):
    said = run_with(tmp_path, [0, 0, 0, 0])
    whole = json.loads((tmp_path / "run.ledger.json").read_text())
    assert whole["status"] == "LEAT_ERROR_LOST" and whole["lost"] == 0, "what LEAT_STRICT=1 makes of it"
    assert sorted((w["what"], w["variable"], w["first"], w["last"], w["iterations"]) for w in whole["warnings"]) == [
        (what, name, 0, 2, 3) for what in ("covered", "holes") for name in "uv"]
    for warning in whole["warnings"]:
        if warning["what"] == "covered":
            assert "what ranks 0-2 (y=0:2, x=0:4) wrote is not stored" in warning["text"], warning
            continue
        assert SAYS in warning["text"] and "(y=2:8, x=0:4)" in warning["text"]
        assert 'written by ranks 0-3 (y=0:2, x=0:4)' in warning["text"] and 'coverage="partial"' in warning["text"]
    assert said.count('iteration 0: "u"') == 2 and said.count("warning, iterations 0-2: ") >= 2
    assert said.count("leat_finalize: warning, iterations 0-2: ") == 1, "one rank says it"
    with h5py.File(tmp_path / "run.h5") as file:
        assert json.loads(file["leat/ledger"][()].tobytes())["warnings"] == whole["warnings"]
        assert np.isnan(file["u"][:, ROWS:]).all()
        for iteration in range(3):  # as docs/reference/files.md says: of overlaps, the highest rank's
            assert same_bits(file["u"][iteration, :ROWS].ravel(), data(8, "f8", 100 * iteration + 3))


def test_right_positions_and_holes_that_are_meant_say_nothing(tmp_path):
    for name, positions, attributes in (("right", [0, 2, 4, 6], ""), ("meant", [0, 1, 2, 3], ' coverage="partial"')):
        (tmp_path / name).mkdir()
        assert "hole" not in run_with(tmp_path / name, positions, attributes)
        assert warnings(tmp_path / name) == []


def test_ranks_that_write_less_leave_a_hole_and_a_variable_that_nobody_writes_does_not(tmp_path):
    with Run(tmp_path, xml(LAYOUT.format("") + FIELDS), ranks=RANKS) as run:
        ranks = run.init()
        for rank in ranks:
            for variable in "uv":
                rank.must("set_position", variable, 0, 2 * rank.number, 0)
        for iteration in range(6):  # v in each third iteration only; rank 1 forgets it once
            for rank in ranks:
                assert rank.write("u", BYTES, 1).ok
                if iteration % 3 == 0 and (rank.number, iteration) != (1, 3):
                    assert rank.write("v", BYTES, 2).ok
                rank.end()
        run.finish()
    (warning,) = warnings(tmp_path)
    assert (warning["variable"], warning["first"], warning["last"]) == ("v", 3, 3)
    assert "(y=2:4, x=0:4)" in warning["text"] and "rank 0 (y=0:2, x=0:4), rank 2 (y=4:6, x=0:4)" in warning["text"]


def test_what_a_dead_rank_or_a_write_that_failed_leaves_is_not_said_twice(tmp_path):
    with Run(tmp_path, xml(LAYOUT.format("") + FIELDS), ranks=RANKS) as run:
        ranks = run.init()
        for rank in ranks:
            rank.must("set_position", "u", 0, 2 * rank.number, 0)
        for iteration in range(4):
            for rank in ranks:
                if rank.number == 2 and iteration == 1:
                    assert rank.call("write_null", "u").status == "LEAT_ERROR_ARGUMENT"
                elif rank.number == 3 and iteration == 2:
                    rank.kill()
                elif rank.process.poll() is None:
                    assert rank.write("u", BYTES, 1).ok
                if rank.process.poll() is None:
                    rank.end()
        run.finalize(ranks[:3])
    assert warnings(tmp_path) == []
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["leat/iteration_complete"][:].tolist() == [1, 1, 0, 0]


def test_a_server_that_takes_over_keeps_what_was_said(tmp_path):
    with Run(tmp_path, xml(LAYOUT.format("") + FIELDS), ranks=RANKS) as run:
        ranks = run.init()
        write_all(ranks, [0, 0, 4, 4], iterations=2, variables="u")
        os.kill(run.server(), signal.SIGKILL)
        write_all(ranks, [0, 2, 4, 6], iterations=2, variables="u")
        run.finish()
    holes = [w for w in warnings(tmp_path) if w["what"] == "holes"]
    assert {(w["variable"], "(y=2:4, x=0:4), (y=6:8, x=0:4)" in w["text"]) for w in holes} == {("u", True)}


def test_overlaps_with_different_values_are_found_when_asked_for(tmp_path):
    names = [tmp_path / name for name in ("asked", "not", "same")]
    for folder in names:
        folder.mkdir()
    asked = {"LEAT_CHECK_OVERLAPS": "1"}
    said = run_with(names[0], [0, 2, 4, 5], environment=asked, variables="u")
    overlap = [w for w in warnings(names[0]) if w["what"] == "overlap"]
    assert len(overlap) == 1 and overlap[0]["iterations"] == 3 and said.count("differ there") >= 2
    assert "block 0 of rank 2 and block 0 of rank 3 both have (y=5:6, x=0:4)" in overlap[0]["text"]
    run_with(names[1], [0, 2, 4, 5], variables="u")
    assert [w["what"] for w in warnings(names[1])] == ["holes"]
    with Run(names[2], xml(LAYOUT.format("") + FIELDS), ranks=RANKS, environment=asked) as run:
        ranks = run.init()
        for rank in ranks:
            rank.must("set_position", "u", 0, 2 * (rank.number // 2), 0)
            assert rank.write("u", BYTES, rank.number // 2).ok  # two and two the same
            rank.end()
        run.finish()
    assert [w["what"] for w in warnings(names[2])] == ["holes"]


def test_strict_makes_holes_an_error_of_finalize(tmp_path):
    with Run(tmp_path, xml(LAYOUT.format("") + FIELDS), ranks=RANKS, environment={"LEAT_STRICT": "1"}) as run:
        write_all(run.init(), [0, 0, 0, 0])
        answers = run.finalize()
    assert {answer.status for answer in answers} == {"LEAT_ERROR_LOST"} and SAYS in answers[0].error


WHOLE = '<layout name="cells" type="double" dimensions="10" global="10" names="x"/><variable name="u" layout="cells"/>'


def write_same_box(folder, store='<store name="out" type="hdf5"/>', environment=None):
    with Run(folder, xml(WHOLE, store=store), ranks=3, environment=environment) as run:
        for iteration in range(3):
            for rank in run.init() if iteration == 0 else run.ranks:
                assert rank.write("u", 80, 100 * iteration + rank.number).ok
                rank.end()
        answers = run.finalize()
        run.await_end()
        return run.log(), {answer.status for answer in answers}


def test_ranks_whose_box_others_write_too_are_named(tmp_path):
    """Local extents equal to the global ones, and no positions: two ranks' data are gone, and there is no hole."""
    said, statuses = write_same_box(tmp_path)
    assert said.count("what ranks 0-1 (x=0:10) wrote is not stored") >= 1 and "leat_set_position" in said, said
    assert said.count('iteration 0: "u"') == 1, "once"
    (warning,) = warnings(tmp_path)
    assert (warning["what"], warning["variable"], warning["iterations"]) == ("covered", "u", 3)
    assert statuses == {"LEAT_OK"} and "leat_finalize: warning" in said
    with h5py.File(tmp_path / "run.h5") as file:
        for iteration in range(3):
            assert same_bits(file["u"][iteration], data(10, "f8", 100 * iteration + 2))


@pytest.mark.parametrize("varying", ["true", "false"])
def test_what_all_ranks_write_alike_is_lost_to_nobody_until_it_differs(tmp_path, varying):
    """As coordinates that each rank has as a whole. Of what varies in time a later iteration may differ, and is said then."""
    with Run(tmp_path, xml(WHOLE.replace('layout="cells"/', f'layout="cells" time-varying="{varying}"/')), ranks=3) as run:
        for iteration in range(3):
            for rank in run.init() if iteration == 0 else run.ranks:
                if iteration == 0 or varying == "true":
                    assert rank.write("u", 80, rank.number if iteration == 2 else 7).ok
                rank.end()
        run.finalize()
        run.await_end()
    found = [(each["what"], each["iterations"]) for each in warnings(tmp_path)]
    assert found == ([("covered", 1)] if varying == "true" else [])


def test_the_status_of_a_strict_run_says_that_what_ranks_wrote_is_covered(tmp_path):
    _, statuses = write_same_box(tmp_path, environment={"LEAT_STRICT": "1"})
    assert "LEAT_ERROR_LOST" in statuses


@pytest.mark.parametrize("store", ['<store name="out" type="raw"/>',
                                   '<store name="out" type="hdf5"><option name="layout" value="damaris"/></store>'])
def test_files_that_keep_each_rank_by_itself_have_no_holes_and_cover_nothing(tmp_path, store):
    said, _ = write_same_box(tmp_path, store=store)
    assert "not stored" not in said and "hole" not in said and warnings(tmp_path) == [], said


def test_borders_that_neighbours_share_cover_nobody(tmp_path):
    nodes = '<layout name="nodes" type="double" dimensions="5" global="9" names="x"/><variable name="u" layout="nodes"/>'
    with Run(tmp_path, xml(nodes), ranks=2) as run:
        for rank in run.init():
            rank.must("set_position", "u", 0, 4 * rank.number)
            assert rank.write("u", 40, rank.number).ok
            rank.end()
        run.finish()
        run.await_end()
        assert "not stored" not in run.log(), run.log()
    assert warnings(tmp_path) == []

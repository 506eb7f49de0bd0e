# SPDX-License-Identifier: Apache-2.0
"""A call that says the number of an iteration and is refused: what is written behind it is under another number than the code said."""
import h5py
import pytest
from leat_run import Run, xml

DATA = '<layout name="row" type="int" dimensions="5"/><variable name="a" layout="row"/>'


def step(rank, number):
    assert rank.write("a", 20, 10 * number).ok
    rank.end()


@pytest.mark.parametrize("strict", ["0", "1"])
def test_a_number_that_is_refused_is_said_at_the_end(tmp_path, strict):
    text = xml(DATA)
    with Run(tmp_path, text, environment={"LEAT_STRICT": strict}) as run:
        (rank,) = run.init()
        rank.must("start_at", 41)
        refused = rank.call("begin", 40)
        assert refused.status == "LEAT_ERROR_STATE" and "numbers only grow" in refused.error
        step(rank, 40)
        rank.must("begin", 42)
        step(rank, 42)
        (answer,) = run.finalize()
        assert answer.status == "LEAT_ERROR_STATE", answer
        assert "under other numbers than the code said" in answer.error and "iteration 40 cannot begin" in answer.error, answer
        assert "under other numbers" in rank.stderr()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [41, 42]


@pytest.mark.parametrize("calls, is_wrong", [
    ("u b5 e", True), ("u b5 e b6 u e", True), ("u s5 e", True), ("b5 u b6 e", False), ("b5 u b6 e b6 u e", False),
    ("b5 u e b5 b6 u e", False), ("b5 b3 u s5 e", True), ("b5 b3 s5 u e", False),
    ("s5 s5 u e", False), ("b5 s5 u e", False), ("s5 r u e", False), ("u r e", False), ("r u e", False), ("b5 b3 u e", True)])
def test_who_has_written_under_another_number(tmp_path, calls, is_wrong):
    """u: write, b: begin_iteration, s: start_at, r: restart_step, e: end."""
    with Run(tmp_path, xml(DATA)) as run:
        (rank,) = run.init()
        for call in calls.split():
            if call == "u":
                assert rank.write("a", 20, 1).ok
            else:
                rank.call(*{"b": ["begin", call[1:]], "s": ["start_at", call[1:]], "r": ["restart_step"], "e": ["end_iteration"]}[call[0]])
        (answer,) = run.finalize()
        assert (answer.status == "LEAT_ERROR_STATE") == is_wrong and (is_wrong or answer.ok), answer


def test_a_number_that_is_said_again_in_time_is_none(tmp_path):
    with Run(tmp_path, xml(DATA)) as run:
        (rank,) = run.init()
        rank.must("start_at", 41)
        assert rank.call("begin", 40).status == "LEAT_ERROR_STATE"
        rank.must("begin", 45)
        step(rank, 45)
        assert rank.call("begin", -1).status == "LEAT_ERROR_ARGUMENT"
        run.finish()

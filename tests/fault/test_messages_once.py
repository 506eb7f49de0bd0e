# SPDX-License-Identifier: Apache-2.0
"""What all ranks do wrong is said once, with their numbers and what to do; what one rank does wrong is said too."""
import os
import re
import signal
import time

import pytest
from leat_run import LIMIT, Run, await_death, xml

NAMES = "abcdef"
GLOBAL = '<layout name="row" type="int" dimensions="5" global="20"/>' + "".join(
    f'<variable name="{name}" layout="row"/>' for name in NAMES)


def lines_with(text, words):
    return [line for line in text.splitlines() if words in line]


def forget_positions(run, ranks, iterations=3):
    for iteration in range(iterations):
        for rank in run.ranks:
            for name in NAMES:
                if rank.number not in ranks and iteration == 0:
                    rank.must("set_position", name, 0, 5 * rank.number)
                assert rank.write(name, 20, 1).ok == (rank.number not in ranks)
            rank.end()


@pytest.mark.parametrize("log", ["", '<log file="leatd.log"/>'])
def test_a_position_that_all_ranks_forgot_for_all_variables_is_one_line_and_one_table(tmp_path, log):
    with Run(tmp_path, xml(GLOBAL, log=log), ranks=4) as run:
        run.init()
        forget_positions(run, range(4))
        answers = run.finalize()
        run.await_end()
        text = run.log()
    (line,) = lines_with(text, "leat_write")
    assert 'ranks 0-3: leat_write: variable "a" (run.xml:3): a block of (5)' in line, line
    assert "call leat_set_position to say where it lies" in line
    assert 'the same of 5 other variables: "b", "c", "d", "e", "f"' in line, line
    assert text.count("  store  ") == (1 if log else 2), "the log has the table, and one rank for the node"
    assert len(text.splitlines()) <= 18, text  # two of them the report's
    for answer in answers:
        assert answer.status == "LEAT_ERROR_LOST"
        table = " ".join(answer.error.split())
        assert "- a +5 more 0-3 0-2" in table and "call leat_set_position to say where it lies" in table, answer.error


def test_what_one_rank_alone_forgot_is_said_of_that_rank(tmp_path):
    with Run(tmp_path, xml(GLOBAL), ranks=4) as run:
        run.init()
        forget_positions(run, [3])
        answers = run.finalize()
        run.await_end()
        text = run.log()
    (line,) = lines_with(text, "leat_write")
    assert " rank 3: leat_write: variable" in line and "call leat_set_position" in line
    assert all(answer.status == "LEAT_ERROR_LOST" for answer in answers)
    assert "- a +5 more 3 0-2" in " ".join(answers[0].error.split())


def test_a_layout_that_is_called_like_its_variable_keeps_its_name_in_the_table(tmp_path):
    text = '<parameter name="n" type="int"/><layout name="a" type="int" dimensions="n"/><variable name="a" layout="a"/>'
    with Run(tmp_path, xml(text), ranks=1) as run:
        (rank,) = run.init()
        assert not rank.write("a", 20, 1).ok
        rank.end()
        (answer,) = run.finalize()
        run.await_end()
    table = " ".join(answer.error.split())
    assert 'layout "a" (run.xml:' in table and "layout it" not in table, answer.error


def test_a_call_that_loses_nothing_is_reported_too(tmp_path):
    with Run(tmp_path, xml(GLOBAL), ranks=3) as run:
        for rank in run.init():
            assert rank.call("set_int", "nx", 3).status == "LEAT_ERROR_UNKNOWN_NAME"
        run.finish()
        run.await_end()
        (line,) = lines_with(run.log(), "leat_set_int")
    assert 'ranks 0-2: leat_set_int: run.xml declares no parameter "nx"' in line


def test_after_a_leat_init_that_failed_only_leat_finalize_says_it_once_more(tmp_path):
    with Run(tmp_path, xml(GLOBAL).replace("</simulation>", "<stor/></simulation>"), ranks=4) as run:
        for rank in run.ranks:
            rank.start("init_ranks", run.config, run.session, rank.number, 4)
        assert [rank.result().status for rank in run.ranks] == 4 * ["LEAT_ERROR_CONFIG"]
        for rank in run.ranks:
            for call in (["write", "a", 0, 20, 1], ["alloc", "a", 0, 20, 1], ["commit", "a", 0], ["end_iteration"], ["set_int", "n", 1],
                         ["set_position", "a", 0, 1], ["wanted", "a"]):
                answer = rank.call(*call)
                assert answer.status == "LEAT_ERROR_STATE" and "after leat_init_ranks had failed: " in answer.error
        assert len(lines_with(run.log(), "leat: ")) == 1
        for rank in run.ranks:
            end = rank.call("finalize")
            assert end.status == "LEAT_ERROR_LOST" and "nothing of this run is stored" in end.error
            assert rank.call("finalize").status == "LEAT_ERROR_LOST"
        first, last = lines_with(run.log(), "leat: ")
    assert first.startswith("leat: leat_init_ranks: ") and "<stor>" in first
    assert last.startswith("leat: leat_finalize: nothing of this run is stored: leat_init_ranks had failed, and 2 writes of this rank")
    assert "<stor>" in last


@pytest.mark.parametrize("calls", [0, 1])
def test_without_leat_finalize_the_end_of_a_process_says_that_leat_init_had_failed(tmp_path, calls):
    with Run(tmp_path, xml(GLOBAL).replace("</simulation>", "<stor/></simulation>")) as run:
        (rank,) = run.ranks
        rank.call("init_ranks", run.config, run.session, 0, 1)
        for _ in range(calls):
            rank.call("write", "a", 0, 20, 1)
        rank.process.stdin.close()
        rank.process.wait(LIMIT)
        said = lines_with(run.log(), "leat: ")
    # A program that has heeded the status has been told.
    assert [("nothing of this run" in line, "1 write of" in line) for line in said[1:]] == calls * [(True, True)]


def test_a_message_that_a_killed_server_had_not_said_yet_is_said_by_the_next_one(tmp_path):
    """Messages of a moment are gathered, over ranks; stopped, the server gets to say none."""
    with Run(tmp_path, xml(GLOBAL, timeout="5s"), ranks=2) as run:
        ranks = run.init()
        server = run.server()
        os.kill(server, signal.SIGSTOP)
        for rank in ranks:
            assert rank.call("set_int", "nx", 3).status == "LEAT_ERROR_UNKNOWN_NAME"
        os.kill(server, signal.SIGKILL)
        await_death(server)
        time.sleep(0.12)  # a rank looks whether its server lives every 0.1 s
        for rank in ranks:
            rank.end()
            assert rank.call("set_int", "nx", 3).status == "LEAT_ERROR_UNKNOWN_NAME"  # the same once more is not
        run.finish()
        run.await_end()
        (line,) = lines_with(run.log(), "leat_set_int")
    assert 'ranks 0-1: leat_set_int: run.xml declares no parameter "nx"' in line


def test_a_message_that_was_said_is_not_said_again_by_the_next_server(tmp_path):
    with Run(tmp_path, xml(GLOBAL, timeout="2s")) as run:
        (rank,) = run.init()
        rank.call("set_int", "nx", 3)
        time.sleep(2.2)  # a server may have been stopped for as long as the timeout
        rank.end()
        server = run.server()
        os.kill(server, signal.SIGKILL)
        await_death(server)
        time.sleep(0.12)
        rank.end()
        rank.call("set_int", "nx", 3)
        run.finish()
        run.await_end()
        assert len(lines_with(run.log(), "leat_set_int")) == 1


def test_without_leat_init_one_message_is_all_that_is_printed(tmp_path):
    with Run(tmp_path, xml(GLOBAL)) as run:
        for call in (["write", "a", 0, 20, 1], ["end_iteration"], ["finalize"]):
            assert "called before leat_init" in run.ranks[0].call(*call).error
        assert len(lines_with(run.log(), "leat: ")) == 1


def test_a_rank_without_server_speaks_for_itself(tmp_path):
    with Run(tmp_path, xml(GLOBAL).replace('cores="1"', 'cores="1" grace="0s"'), ranks=2) as run:
        ranks = run.init()
        os.kill(run.server(), signal.SIGTERM)
        run.await_end()
        time.sleep(0.12)  # a rank looks whether its server lives every 0.1 s
        for rank in ranks:
            rank.must("set_position", "a", 0, 5 * rank.number)
            assert rank.call("end_iteration").status == "LEAT_ERROR_SERVER"
            assert rank.write("a", 20, 1).status == "LEAT_ERROR_SERVER"
            assert f"leat: rank {rank.number}: leat_write: " in rank.stderr()
        ends = run.finalize()
        assert [answer.status for answer in ends] == 2 * ["LEAT_ERROR_LOST"]
        assert all("the run was drained by order of SIGTERM" in answer.error for answer in ends)


def test_lines_of_the_log_have_time_and_node(tmp_path):
    with Run(tmp_path, xml(GLOBAL), ranks=2) as run:
        for rank in run.init():
            rank.must("set_position", "a", 0, 5 * rank.number)
            assert rank.write("a", 20, 1).ok
            rank.end()
        run.finish()
        run.await_end()
        said = [line for line in run.log().splitlines() if "leatd" in line]
    node = re.escape(os.uname().nodename.split(".")[0])
    assert said and all(re.match(rf"\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{{3}} {node}\S* leatd run: \w+: ", line) for line in said), said


def test_ranks_that_end_together_are_one_line(tmp_path):
    with Run(tmp_path, xml(GLOBAL), ranks=4) as run:
        for rank in run.init():
            rank.must("set_position", "a", 0, 5 * rank.number)
            assert rank.write("a", 20, 1).ok
            rank.end()
        server = run.server()
        os.kill(server, signal.SIGSTOP)  # so that it sees them all at once, however slow this machine is
        for rank in run.ranks:
            rank.kill()
        os.kill(server, signal.SIGCONT)
        run.await_end()
        (line,) = lines_with(run.log(), "without leat_finalize")
    assert "ranks 0-3 ended without leat_finalize, in iteration 1; the data they had written will be stored" in line

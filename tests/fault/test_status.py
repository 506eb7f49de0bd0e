# SPDX-License-Identifier: Apache-2.0
"""Whoever looks at one place learns how a run went: the ledger's status, leatd's exit status and last line, and with
LEAT_STRICT=1 the status of leat_finalize, say whether a rank died, a script failed or something was left out."""
import json
import os
import pathlib
import signal
import subprocess
import sys

import pytest
from leat_run import BUILD, LIMIT, Run, xml

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "scripts"))
from script_run import ROW, SIZE, config, put, wait_until, write_iterations  # noqa: E402
from without_xarray import without_xarray  # noqa: F401

STRICT = {"LEAT_STRICT": "1"}
BAD = """
    def process(ds, ctx):
        if ctx.iteration in (1, 2):
            raise ValueError("too cold")
    """


def ledger(run):
    run.await_end()
    whole = json.loads((run.folder / "run.ledger.json").read_text())
    with_lines = run.log().splitlines()
    return whole, next(line for line in reversed(with_lines) if "done: " in line)


def failures_noted(run):
    whole = json.loads((run.folder / "run.ledger.json").read_text()) if (run.folder / "run.ledger.json").exists() else {}
    return sum(script["failed"] for script in whole.get("scripts", []))


def server_by_hand(run):
    """leatd as a child of the test, which sees its exit status."""
    words = [BUILD / "bin" / "leatd", "--config", run.config, "--session", run.session, "--ranks", str(len(run.ranks)),
             "--node-ranks", str(len(run.ranks))]
    run.runtime.mkdir(mode=0o700)
    server = subprocess.Popen(words, cwd=run.folder, env=run.environment, stderr=open(run.folder / "leatd.err", "wb"))
    wait_until(lambda: any(p.suffix == ".sock" or p.is_socket() for p in run.runtime.iterdir()), "leatd listens")
    return server


def kill_all(run, after):
    for rank in run.ranks:
        for _ in range(after):
            assert rank.write("a", SIZE, rank.number).ok
            rank.end()
    for rank in run.ranks:
        rank.kill()


def test_a_run_whose_ranks_all_died_is_not_finished_and_not_ok(tmp_path):
    with Run(tmp_path, xml(ROW), ranks=3) as run:
        server = server_by_hand(run)
        run.init()
        kill_all(run, 4)
        assert server.wait(LIMIT) == 3
    whole = json.loads((tmp_path / "run.ledger.json").read_text())
    assert (whole["state"], whole["status"], whole["lost"]) == ("died", "LEAT_ERROR_LOST", 0)
    assert whole["died"] == [{"rank": rank, "iteration": 4} for rank in range(3)]
    last = (tmp_path / "leatd.err").read_text().splitlines()[-1]
    assert "done: 4 iterations ended, 4 stored" in last and "ranks 0-2 died in iteration 4" in last, last


def test_a_run_in_which_all_went_well_is_ok_for_the_strict_too(tmp_path):
    put(tmp_path, "good", "def process(ds, ctx): pass")
    with Run(tmp_path, config(), ranks=2, environment=STRICT) as run:
        server = server_by_hand(run)
        run.init()
        write_iterations(run, range(3))
        run.finish()
        assert server.wait(LIMIT) == 0
    whole = json.loads((tmp_path / "run.ledger.json").read_text())
    assert (whole["state"], whole["status"]) == ("finished", "LEAT_OK")
    assert whole["scripts"] == [{"name": "good", "calls": 3, "failed": 0, "skipped": 0}]
    assert not run.log()


@pytest.mark.parametrize("strict", [False, True])
def test_a_script_that_failed_is_told_and_an_error_for_the_strict(tmp_path, strict):
    put(tmp_path, "bad", BAD)
    with Run(tmp_path, config(), ranks=2, environment=STRICT if strict else None) as run:
        run.init()
        write_iterations(run, range(4))
        answers = run.finalize()
        whole, last = ledger(run)
    assert [a.status for a in answers] == 2 * ["LEAT_ERROR_LOST" if strict else "LEAT_OK"]
    told = 'script "bad" failed 2 times in 4 calls (ValueError: too cold)'
    assert sum(f"leat_finalize: {told}; see run.ledger.json" in line for line in run.log().splitlines()) == 1
    if strict:
        assert all(told in answer.error for answer in answers)
    assert (whole["state"], whole["status"], whole["lost"]) == ("finished", "LEAT_ERROR_LOST", 0)
    assert whole["scripts"] == [{"name": "bad", "calls": 4, "failed": 2, "skipped": 0, "why": "ValueError: too cold"}]
    assert "4 iterations ended, 4 stored" in last and last.endswith("nothing lost; " + told.split(" (")[0])


def test_what_a_slow_script_left_out_is_an_error_for_the_strict(tmp_path):
    put(tmp_path, "slow", "import time\ndef process(ds, ctx):\n    ctx.log(f'I see {ctx.iteration}')\n    time.sleep(0.3)\n")
    with Run(tmp_path, config(skip=True), environment=STRICT) as run:
        run.init()
        write_iterations(run, range(1))
        wait_until(lambda: "I see 0" in run.log(), "the script runs")
        write_iterations(run, range(1, 40))
        (answer,) = run.finalize()
        whole, last = ledger(run)
    (script,) = whole["scripts"]
    assert answer.status == whole["status"] == "LEAT_ERROR_LOST" and script["failed"] == 0 < script["skipped"]
    assert script["calls"] + script["skipped"] == 40
    assert f'script "slow" skipped {script["skipped"]} iterations' in last


def test_a_rank_that_died_is_an_error_for_the_strict_and_another_one_speaks(tmp_path):
    with Run(tmp_path, xml(ROW), ranks=3, environment=STRICT) as run:
        ranks = run.init()
        write_iterations(run, range(2))
        ranks[0].kill()
        answers = run.finalize(ranks[1:])
        whole, _ = ledger(run)
    assert [a.status for a in answers] == 2 * ["LEAT_ERROR_LOST"]
    assert all("rank 0 died in iteration 2" in a.error for a in answers)
    assert (whole["state"], whole["status"]) == ("died", "LEAT_ERROR_LOST")
    assert sum("leat: " in rank.stderr() for rank in ranks[1:]) == 1, "one rank speaks for the node"


def test_what_was_dropped_as_the_xml_allows_is_an_error_for_the_strict(tmp_path):
    big = '<layout name="big" type="uint8" dimensions="3*1048576"/><variable name="big" layout="big"/>'
    text = xml(big, buffer="4MiB").replace('timeout="10s"', 'timeout="10s" when-full="drop-iteration"')
    with Run(tmp_path, text, environment=STRICT) as run:
        (rank,) = run.init()
        rank.write("big", 3 << 20, 1)
        assert rank.write("big", 3 << 20, 1, block=1).status == "LEAT_DROPPED"
        rank.end()
        (answer,) = run.finalize()
        whole, last = ledger(run)
    assert answer.status == whole["status"] == "LEAT_ERROR_LOST" and whole["dropped_iterations"] == 1
    assert "1 iteration ended, 0 stored (0 B), 1 iteration dropped (0), nothing lost" in last


def test_a_loss_is_a_loss_whatever_else_is_amiss(tmp_path):
    put(tmp_path, "bad", BAD)
    with Run(tmp_path, config(), environment=STRICT) as run:
        (rank,) = run.init()
        write_iterations(run, range(3))
        rank.write("b", SIZE, 1)
        (answer,) = run.finalize()
        whole, last = ledger(run)
    assert answer.status == whole["status"] == "LEAT_ERROR_LOST" and "NOT ALL OF THE DATA IS STORED" in last
    assert 'script "bad" failed 2 times' in answer.error


def test_what_a_script_failed_in_outlives_the_server(tmp_path):
    put(tmp_path, "bad", BAD)
    with Run(tmp_path, config(), environment=STRICT) as run:
        run.init()
        write_iterations(run, range(4))
        wait_until(lambda: failures_noted(run) == 2, "the script has failed twice")
        os.kill(run.server(), signal.SIGKILL)
        write_iterations(run, range(4, 6))
        (answer,) = run.finalize()
        whole, last = ledger(run)
    (script,) = whole["scripts"]
    assert answer.status == "LEAT_ERROR_LOST" and script["failed"] == 2
    assert "6 iterations ended" in last and "since this server has taken over" in last


def test_iterations_that_no_store_wants_are_counted_as_not_due(tmp_path):
    with Run(tmp_path, xml(ROW, store='<store name="out" type="hdf5" every="10"/>'), ranks=2) as run:
        run.init()
        write_iterations(run, range(100))
        run.finish()
        whole, last = ledger(run)
    assert whole["status"] == "LEAT_OK"
    assert last.endswith("done: 100 iterations ended, 10 stored (1.2 KiB), 90 not due in any store, nothing lost"), last

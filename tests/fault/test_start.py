# SPDX-License-Identifier: Apache-2.0
"""A rank or leatd is killed, stopped or told to end at each step of the start. The others go on at full speed, a run stays
one run, and a rank that comes too late is told so. start_steps.c, preloaded, sends the signal."""
import concurrent.futures
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time

import h5py
import pytest
from leat_run import BUILD, LIMIT, Rank, Run, data, same_bits, xml
from stored_blocks import stored_ranks

ROW = '<layout name="row" type="int" dimensions="5"/><variable name="a" layout="row"/>'
BIG = '<layout name="big" type="uint8" dimensions="1048576"/><variable name="a" layout="big"/>'
TIMEOUT, ITERATIONS, RANKS = 5.0, 4, 3
LANES = 8

# What the process that starts the server does, and those that find one. "joins": stopped there, it is part of the run.
STARTER = {"before it looks": "connect 1 before", "lock taken": "flock 1 after", "server spawned": "spawn 1 after",
           "server ready": "connect 3 before", "connected": "connect 1 after", "hello sent": "sendmsg 1 after",
           "welcomed": "recvmsg 1 after", "attached": "lock 1 after"}
JOINER = {name: STARTER[name] for name in ("before it looks", "connected", "hello sent", "welcomed", "attached")}
JOINS = ("hello sent", "welcomed", "attached")
SERVER = {"started": "start 1 after", "session taken": "lock 1 after", "segment made": "lock 2 after",
          "before it listens": "listen 1 before", "listens": "listen 1 after", "ready": "ready 1 after",
          "a rank connected": "accept 1 after", "hello taken": "recvmsg 1 after", "first welcome sent": "sendmsg 1 after",
          "last welcome sent": f"sendmsg {RANKS} after"}


@pytest.fixture
def short_path():
    """pytest's own is too long for the socket of a row."""
    with tempfile.TemporaryDirectory(prefix="leat-") as folder:
        yield pathlib.Path(folder)


def stepping(folder, program, step, which):
    return {"LD_PRELOAD": str(BUILD / "lib" / "libleat_start_steps.so"), "LEAT_STEP": f"{program} {step} {int(which)}",
            "LEAT_STEP_FILE": str(folder / "step")}


def await_step(folder):
    """The process that is at the step now; all of its writes before are done."""
    until = time.monotonic() + LIMIT
    while not (folder / "step").exists() or not (folder / "step").read_text().endswith("\n"):
        assert time.monotonic() < until, "nobody comes to this step"
        time.sleep(0.002)
    return int((folder / "step").read_text())


def start_init(rank):
    rank.start("init_ranks", rank.run.config, rank.run.session, rank.number, RANKS)


def iterate(rank, first=0):
    """Whole iterations; each call far below the timeout."""
    for iteration in range(first, first + ITERATIONS):
        begin = time.monotonic()
        answer = rank.write("a", 20, 100 * rank.number + iteration)
        assert answer.ok, answer
        rank.end()
        assert time.monotonic() - begin < TIMEOUT, "waits out the timeout"


def expect_run(folder, ranks, complete):
    """One file, in which these ranks have all of their data."""
    for beside in folder.glob("run.*.h5"):  # of a server that was killed before any rank had its segment
        with h5py.File(beside) as file:
            assert len(file["iteration"]) == 0
    with h5py.File(folder / "run.h5") as file:
        assert file["iteration"][:].tolist() == list(range(ITERATIONS))
        assert file["leat/iteration_complete"][:].tolist() == [int(complete)] * ITERATIONS
        for iteration in range(ITERATIONS):
            stored = stored_ranks(file, "a", iteration)
            assert sorted(stored) == sorted(r.number for r in ranks)
            for rank, got in stored.items():
                assert same_bits(got, data(5, "i4", 100 * rank + iteration))


def ledger(folder):
    return json.loads((folder / "run.ledger.json").read_text())


def forget_late(run):
    (run.runtime / f"{run.session}.late").unlink(missing_ok=True)


def rank_row(folder, starts, step, which, joins):
    """The victim comes to its step before the others begin (it starts the server), or after they have attached."""
    folder.mkdir()
    with Run(folder, xml(ROW, timeout=f"{TIMEOUT:g}s"), ranks=0) as run:
        environment = stepping(folder, "leat_rank", step, which)
        victim = Rank(run, 1, environment)
        others = [Rank(run, 0), Rank(run, 2)]
        run.ranks = [others[0], victim, others[1]]
        for rank in [victim, *others] if starts else [*others, victim]:
            start_init(rank)
            if rank is victim:
                await_step(folder)
            elif not starts:
                assert rank.result().ok
        for rank in others if starts else []:
            answer = rank.result()
            assert answer.ok, answer
        for rank in others:
            iterate(rank)
        if which == signal.SIGKILL:
            victim.process.wait()
        answers = run.finalize(others)
        stopped_in = which == signal.SIGSTOP and joins
        assert {a.status for a in answers} == {"LEAT_ERROR_TIMEOUT" if stopped_in else "LEAT_OK"}, answers
        if which == signal.SIGKILL:
            run.await_end()
            forget_late(run)
            noted = ledger(folder)
            assert noted["never_came"] == [1] or [d["rank"] for d in noted["died"]] == [1], noted
            assert ("rank 1 did not connect, and" in run.log()) == (noted["never_came"] == [1])
            return expect_run(folder, others, complete=False)
        victim.process.send_signal(signal.SIGCONT)
        answer = victim.result()
        if joins:
            assert answer.ok, answer
            iterate(victim)
            assert run.finalize([victim])[0].ok
            run.await_end()
            return expect_run(folder, run.ranks, complete=True)
        assert answer.status == "LEAT_ERROR_STATE" and "rank 1 of this node came too late" in answer.error, answer
        assert "came too late" in victim.stderr()
        run.await_end()
        forget_late(run)
        assert ledger(folder)["never_came"] == [1]
        return expect_run(folder, others, complete=False)


def server_row(folder, step, which):
    folder.mkdir()
    with Run(folder, xml(ROW, timeout=f"{TIMEOUT:g}s"), ranks=RANKS, environment=stepping(folder, "leatd", step, which)) as run:
        for rank in run.ranks:
            start_init(rank)
        pid = await_step(folder)
        if which == signal.SIGSTOP:
            time.sleep(TIMEOUT + 0.5)
            os.kill(pid, signal.SIGCONT)
        for rank in run.ranks:
            answer = rank.result()
            assert answer.ok, answer
        for rank in run.ranks:
            iterate(rank)
        run.finish()
        run.await_end()
    expect_run(folder, run.ranks, complete=True)


def all_rows(rows):
    """Most of a row is waiting: many at a time. All that fail are named."""
    with concurrent.futures.ThreadPoolExecutor(LANES) as pool:
        running = {name: pool.submit(row, *words) for name, row, *words in rows}
    failed = {name: repr(one.exception())[:600] for name, one in running.items() if one.exception()}
    assert not failed, "\n".join(f"{name}: {why}" for name, why in failed.items())


def rank_rows(folder, steps, starts, which):
    name = signal.Signals(which).name
    return [(f"{name} {step}", rank_row, folder / f"{name}{number}", starts, how, which, step in JOINS)
            for number, (step, how) in enumerate(steps.items())]


def test_a_rank_that_starts_the_server_is_killed_or_stopped_at_any_step_and_the_others_finish(short_path):
    all_rows(rank_rows(short_path, STARTER, True, signal.SIGKILL) + rank_rows(short_path, STARTER, True, signal.SIGSTOP))


def test_a_rank_that_comes_to_a_running_server_is_killed_or_stopped_at_any_step_and_the_others_finish(short_path):
    all_rows(rank_rows(short_path, JOINER, False, signal.SIGKILL) + rank_rows(short_path, JOINER, False, signal.SIGSTOP))


def test_a_server_that_is_killed_stopped_or_told_to_end_at_any_step_of_its_start_has_all_ranks(short_path):
    all_rows([(f"{which.name} {step}", server_row, short_path / f"{which.name}{number}", how, which)
              for which in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM)
              for number, (step, how) in enumerate(SERVER.items())])


def test_a_rank_that_never_comes_costs_the_others_one_wait_in_the_whole_run(tmp_path):
    with Run(tmp_path, xml(BIG, buffer="4MiB", timeout="4s"), ranks=2) as run:
        first = run.ranks[0]
        assert first.init().ok
        begin = time.monotonic()
        for iteration in range(12):
            assert first.write("a", 1 << 20, iteration).ok
            first.end()
        assert time.monotonic() - begin < 8, "it was waited for more than once"
        assert run.finalize([first])[0].ok
        run.await_end()
        assert "iteration 0 has not been ended by rank 1 (not connected yet)" in run.log()
        assert "rank 1 did not connect, and" in run.log() and "rank -1" not in run.log()
        forget_late(run)
    assert ledger(tmp_path)["never_came"] == [1]
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == list(range(12))
        for iteration in range(12):
            assert same_bits(file["a"][iteration].reshape(-1), data(1 << 20, "u1", iteration))


def test_with_error_a_rank_that_never_comes_does_not_make_every_iteration_fail(tmp_path):
    text = xml(BIG, buffer="4MiB", timeout="2s").replace('size="4MiB"', 'size="4MiB" when-full="error"')
    with Run(tmp_path, text, ranks=2) as run:
        first = run.ranks[0]
        assert first.init().ok
        until = time.monotonic() + LIMIT
        while not first.write("a", 1 << 20, 1).ok or first.call("iteration").value < 12:
            first.end()
            assert time.monotonic() < until
            time.sleep(0.05)
        run.finalize([first])
        run.await_end()
        forget_late(run)
        assert "rank 1 did not connect, and" in run.log()


def test_a_later_run_of_the_same_name_is_no_late_one_and_does_not_take_a_late_rank_in(tmp_path):
    environment = stepping(tmp_path, "leat_rank", STARTER["before it looks"], signal.SIGSTOP)
    with Run(tmp_path, xml(ROW, timeout="2s"), ranks=0) as run:
        late = Rank(run, 1, environment)
        run.ranks = [Rank(run, 0)]
        late.start("init_ranks", run.config, run.session, 1, 2)
        await_step(tmp_path)
        run.ranks[0].must("init_ranks", run.config, run.session, 0, 2)
        run.finalize()
        run.await_end()
        run.ranks[0].stop_process()
        (tmp_path / "next.xml").write_text(xml(ROW, timeout="2s", name="next"))
        run.ranks = [Rank(run, number) for number in range(2)]
        first, second = run.ranks
        first.must("init_ranks", "next.xml", run.session, 0, 2)
        late.process.send_signal(signal.SIGCONT)
        answer = late.result()
        assert answer.status == "LEAT_ERROR_STATE" and "came too late" in answer.error, answer
        late.stop_process()
        second.must("init_ranks", "next.xml", run.session, 1, 2)
        for rank in run.ranks:
            iterate(rank)
        run.finish()
        forget_late(run)
    with h5py.File(tmp_path / "next.h5") as file:
        assert file["leat/iteration_complete"][:].tolist() == [1] * ITERATIONS


@pytest.mark.parametrize("option", ['name="exists" value="overwrite"', 'name="compresion" value="lz4"', 'name="compression" value="zip"',
                                    'name="file-mode" value="Collective"'])
def test_what_leat_check_calls_an_error_of_a_store_is_refused_by_leat_init(short_path, option):
    """Else the simulation computes to its end before it is said that nothing was stored."""
    store = f'<store name="out" type="hdf5"><option {option}/></store>'
    with Run(short_path, xml(ROW, store=store)) as run:
        checked = subprocess.run([BUILD / "bin/leat", "check", run.config], cwd=short_path, capture_output=True, text=True)
        assert checked.returncode == 1, checked
        answer = run.ranks[0].init()
        assert answer.status == "LEAT_ERROR_CONFIG" and 'store "out": ' in answer.error, answer
        (line,) = [each for each in checked.stderr.splitlines() if " error: " in each]
        why = line.split("error: ", 1)[1].split(" of the store")[0].split(";")[0]
        assert why in answer.error, (why, answer.error)
    assert list(short_path.glob("*.h5")) == []

# SPDX-License-Identifier: Apache-2.0
"""mode="sync": leat_end_iteration returns when all that wants the iteration has it, and never waits without a bound."""
import os
import signal
import sys
import textwrap
import time

import h5py
from leat_run import BUILD, Run, await_file, data, same_bits, xml
from stored_blocks import stored_ranks
from without_xarray import without_xarray  # noqa: F401

BYTES = 4096
ARRAY = f'<layout name="l" type="uint8" dimensions="{BYTES}"/><variable name="a" layout="l"/>'
STORES = f'<store name="gate" library="{BUILD}/lib/leat/test/gate.so"/><store name="out" type="hdf5"/>'


def config(store=STORES, timeout="30s", more=""):
    return xml(ARRAY, store=store, timeout=timeout, log=more).replace('cores="1"/>', 'cores="1" mode="sync"/>')


def end_all(ranks):
    for rank in ranks:
        rank.start("end_iteration")


def test_the_end_waits_for_all_ranks_and_all_stores(tmp_path):
    with Run(tmp_path, config(), ranks=2) as run:
        a, b = run.init()
        a.must("write", "a", 0, BYTES, 1)
        b.must("write", "a", 0, BYTES, 2)
        a.start("end_iteration")
        assert not a.has_answered()  # the other rank has not ended it
        b.start("end_iteration")
        await_file(tmp_path / "begun-0")
        assert not a.has_answered() and not b.has_answered()
        (tmp_path / "gate-open").touch()
        assert a.result().ok and b.result().ok
        for _ in range(3):  # nothing is written: there is nothing to wait for
            end_all([a, b])
            assert a.result().ok and b.result().ok
        run.finish()


def test_the_end_waits_for_scripts(tmp_path):
    script = """
        import pathlib
        import time
        def process(ds, ctx):
            while not pathlib.Path("go").exists():
                time.sleep(0.01)
            pathlib.Path(f"done-{ctx.iteration}").touch()
        """
    (tmp_path / "analysis").mkdir()
    (tmp_path / "analysis/slow.py").write_text(textwrap.dedent(script))
    scripts = f'<scripts interpreter="{sys.executable}"><folder path="analysis"/></scripts>'
    with Run(tmp_path, config('<store name="out" type="hdf5"/>', more=scripts)) as run:
        (rank,) = run.init()
        rank.must("write", "a", 0, BYTES, 1)
        rank.start("end_iteration")
        assert not rank.has_answered()
        (tmp_path / "go").touch()
        assert rank.result().ok
        assert any(tmp_path.rglob("done-0"))
        run.finish()


def test_the_next_server_ends_the_wait_when_one_is_killed(tmp_path):
    with Run(tmp_path, config(), ranks=2) as run:
        ranks = run.init()
        for rank in ranks:
            rank.must("write", "a", 0, BYTES, rank.number)
        end_all(ranks)
        await_file(tmp_path / "begun-0")
        os.kill(run.server(), signal.SIGKILL)
        (tmp_path / "gate-open").touch()
        for rank in ranks:
            assert rank.result().ok
        run.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert all(same_bits(array, data(BYTES, "u1", i)) for i, array in stored_ranks(file, "a").items())
        assert len(stored_ranks(file, "a")) == 2


def test_a_killed_rank_is_not_waited_for(tmp_path):
    with Run(tmp_path, config('<store name="out" type="hdf5"/>'), ranks=2) as run:
        a, b = run.init()
        a.must("write", "a", 0, BYTES, 1)
        a.start("end_iteration")
        assert not a.has_answered()
        b.kill()
        assert a.result().ok
        run.finalize([a])


def test_a_rank_that_does_not_end_the_iteration_costs_the_others_the_timeout(tmp_path):
    with Run(tmp_path, config('<store name="out" type="hdf5"/>', timeout="1s"), ranks=2) as run:
        a, b = run.init()
        a.must("write", "a", 0, BYTES, 1)
        answer = a.call("end_iteration")
        assert answer.status == "LEAT_ERROR_TIMEOUT" and "runs=\"sync\": iteration 0 is not done yet" in answer.error, answer
        assert a.call("iteration").value == 1
        b.end()
        run.finish()


def test_a_rank_that_never_comes_is_given_up_once(tmp_path):
    """Else each iteration costs the others the timeout: with its default of a minute a run takes days."""
    with Run(tmp_path, config('<store name="out" type="hdf5"/>', timeout="4s"), ranks=3) as run:
        a, b, c = run.ranks
        for rank in (a, b):
            rank.start("init_ranks", run.config, run.session, rank.number, 3)
        assert a.result().ok and b.result().ok
        for number in range(10):
            for rank in (a, b):
                rank.must("write", "a", 0, BYTES, number)
            end_all([a, b])
            assert a.result().ok and b.result().ok
        assert "did not connect while" in run.log()
        late = c.init()
        assert late.status == "LEAT_ERROR_STATE" and "too late" in late.error, late
        assert {answer.status for answer in run.finalize([a, b])} == {"LEAT_OK"}
        run.await_end()
        for each in run.runtime.glob("*.late"):
            each.unlink()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == list(range(10))


def test_a_stopped_rank_costs_the_others_one_timeout_and_not_one_for_each_iteration(tmp_path):
    with Run(tmp_path, config('<store name="out" type="hdf5"/>', timeout="2s"), ranks=3) as run:
        a, b, c = run.init()
        c.process.send_signal(signal.SIGSTOP)
        begin = time.monotonic()
        for number in range(20):
            for rank in (a, b):
                rank.must("write", "a", 0, BYTES, number)
            end_all([a, b])
            for rank in (a, b):
                answer = rank.result()
                assert answer.status == "LEAT_ERROR_TIMEOUT" and f"iteration {number} is not done" in answer.error, answer
        assert time.monotonic() - begin < 20, "40 s when each costs it"
        c.process.send_signal(signal.SIGCONT)
        for number in range(20):
            c.must("write", "a", 0, BYTES, number)
            c.call("end_iteration")
        for number in range(20, 23):  # and the ends are waited for again
            for rank in (a, b, c):
                rank.must("write", "a", 0, BYTES, number)
            end_all([a, b, c])
            assert all(rank.result().ok for rank in (a, b, c))
        run.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == list(range(23))
        assert all(len(stored_ranks(file, "a", row)) == 3 for row in range(23))


def test_no_end_lasts_longer_than_the_timeout_whoever_makes_progress(tmp_path):
    """A script that works on is progress for leat_finalize, not for an end of an iteration."""
    script = """
        import pathlib
        import time
        def process(ds, ctx):
            while not pathlib.Path("go").exists():
                time.sleep(0.01)
        """
    (tmp_path / "analysis").mkdir()
    (tmp_path / "analysis/slow.py").write_text(textwrap.dedent(script))
    scripts = f'<scripts interpreter="{sys.executable}"><folder path="analysis"/></scripts>'
    with Run(tmp_path, config('<store name="out" type="hdf5"/>', timeout="2s", more=scripts)) as run:
        (rank,) = run.init()
        rank.must("write", "a", 0, BYTES, 1)
        answer = rank.call("end_iteration")
        assert answer.status == "LEAT_ERROR_TIMEOUT" and "script takes longer than the timeout" in answer.error, answer
        (tmp_path / "go").touch()
        run.finish()


def test_a_rank_that_never_comes_makes_no_timeout_of_a_short_one(tmp_path):
    """It is waited for two seconds at least, which are progress."""
    with Run(tmp_path, xml(ARRAY, timeout="1s"), ranks=2) as run:
        rank = run.ranks[0]
        assert rank.call("init_ranks", run.config, run.session, 0, 2).ok
        rank.must("write", "a", 0, BYTES, 1)
        rank.end()
        answer = rank.call("finalize")
        assert answer.ok, answer
        run.await_end()
        for each in run.runtime.glob("*.late"):
            each.unlink()
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(stored_ranks(file, "a")[0].ravel(), data(BYTES, "u1", 1))

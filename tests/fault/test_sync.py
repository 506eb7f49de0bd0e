# SPDX-License-Identifier: Apache-2.0
"""mode="sync": leat_end_iteration returns when all that wants the iteration has it, and never waits without a bound."""
import os
import signal
import sys
import textwrap

import h5py
from leat_run import BUILD, Run, await_file, data, same_bits, xml
from stored_blocks import stored_ranks

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

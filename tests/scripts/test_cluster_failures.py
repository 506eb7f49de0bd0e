# SPDX-License-Identifier: Apache-2.0
"""What goes wrong in a cluster of a run costs that script's iteration, is said, and never shows other values."""
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from cluster_run import ClusterRun, rows_of, script_process, whole
from control_run import wait_until
from leat_run import LIMIT

SLOW = """
    import os, time, leat

    @leat.on_iteration(variables=["u"], arrays="dask", scope="run")
    def slow(ds, ctx):
        open("at-{{}}".format(ctx.iteration), "w").close()
        until = time.monotonic() + {seconds}
        while {condition} and time.monotonic() < until:
            time.sleep(0.02)
            ds["u"].sum().compute()
        ctx.scalar("largest", float(ds["u"].max().compute()))
"""
WAITING = SLOW.format(seconds=20, condition='ctx.iteration == 1 and not os.path.exists("go")')
NODES = [[0], [1], [2]]


def expect_right(folder, ranks, iterations, missing=()):
    rows = rows_of(folder)
    for i in iterations:
        if i not in missing:
            assert i in rows, (i, rows)
            assert np.float64(rows[i]["largest"]) == whole(i, ranks).max()


@pytest.mark.parametrize("victim", ["of another server", "of the first server"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_worker_that_is_killed_or_stopped_costs_one_iteration(tmp_path, victim, how):
    with ClusterRun(tmp_path, NODES, WAITING, timeout="10s", attributes='timeout="20s"') as run:
        run.init()
        for i in (0, 1):
            run.step(i)
        wait_until((tmp_path / "at-1").exists, "iteration 1")
        pid = script_process(run, 1 if victim == "of another server" else 0)
        os.kill(pid, how)
        time.sleep(0.5)
        (tmp_path / "go").touch()
        for i in (2, 3, 4):
            run.step(i)
        run.finish()
        log = run.log()
    assert "failed" in log and "of_run" in log
    rows = rows_of(tmp_path)
    expect_right(tmp_path, 3, rows)
    is_seen_at_once = how == signal.SIGKILL and victim == "of another server"
    assert set(rows) >= ({0, 2, 3, 4} if is_seen_at_once else {0, 3, 4}), (rows, log)
    if is_seen_at_once:
        assert "the worker of server 1 was lost" in log


@pytest.mark.parametrize("node", [0, 1])
def test_a_server_that_is_killed_is_followed_by_another_one(tmp_path, node):
    with ClusterRun(tmp_path, NODES, WAITING, timeout="10s", attributes='timeout="20s"') as run:
        run.init()
        for i in (0, 1):
            run.step(i)
        wait_until((tmp_path / "at-1").exists, "iteration 1")
        os.kill(run.server_of(node), signal.SIGKILL)
        (tmp_path / "go").touch()
        for i in range(2, 6):
            run.step(i)
        run.finish()
    rows = rows_of(tmp_path)
    assert {4, 5} <= set(rows)
    expect_right(tmp_path, 3, rows)


KEEPING = """
    import leat
    kept = []

    @leat.on_iteration(variables=["u"], arrays="dask", scope="run")
    def keep(ds, ctx):
        for number, persisted in kept:
            ctx.scalar(f"of_{number}", float(persisted.max().compute()))
        kept[:] = [(ctx.iteration, ds["u"].persist())] if ctx.iteration % 2 == 0 else []
        if ctx.iteration == 0:
            keep.lazy = ds["u"]
        if ctx.iteration == 3:
            keep.lazy.max().compute()
        ctx.scalar("largest", float(ds["u"].max().compute()))
"""


def test_an_array_that_is_kept_shows_its_own_iteration_and_a_lazy_one_is_an_error(tmp_path):
    with ClusterRun(tmp_path, NODES, KEEPING, attributes='failures="10"') as run:
        run.init()
        for i in range(4):
            run.step(i)
        run.finish()
        log = run.log()
    rows = rows_of(tmp_path)
    assert np.float64(rows[1]["of_0"]) == whole(0, 3).max()
    assert 'keep keeps an array of "u" of iteration 0 beyond its call' in log
    assert rows[3]["largest"] == "" and re.search(r"ExpiredError: .u. of iteration 0 was used after", log), log


ENDLESS = SLOW.format(seconds=1000, condition="ctx.iteration == 1")


def test_a_script_that_never_ends_is_ended_and_ranks_go_on(tmp_path):
    with ClusterRun(tmp_path, NODES, ENDLESS, attributes='timeout="20s"') as run:  # the cluster comes to iteration 1 in less

        run.init()
        began = time.monotonic()
        for i in range(4):
            run.step(i)
        run.finish()
        assert time.monotonic() - began < LIMIT
        assert re.search(r"took longer than 20 s|the call has taken longer than its timeout", run.log()), run.log()
        assert "slow, which server 0 calls, has not returned in time" in run.log()
    expect_right(tmp_path, 3, range(4), missing=(1,))


def test_a_server_that_has_not_met_the_others_does_not_take_its_part_for_the_whole(tmp_path):
    with ClusterRun(tmp_path, [[0], [1]], COUNTING, timeout="3s") as run:
        alone = run.ranks[0]
        alone.must("init_ranks", run.config, run.session, 0, 2, 0, 1)
        alone.must("set_position", "u", 0, "0,0")
        for i in range(2):
            run.step(i, [alone])
        alone.call("finalize")
        said = "the other servers of the run, without which this one goes on, gave nothing of iteration 0: count is not called"
        assert said in run.log(), run.log()
        del run.all_runtimes[1:]  # nobody was there
    assert rows_of(tmp_path) == {}


STRANGER = """
import distributed, sys
address = sys.argv[1]
for security in (None, distributed.Security.temporary()):
    try:
        distributed.Client(address if security else address.replace("tls://", "tcp://"), security=security, timeout=2)
        print("let in")
    except OSError as error:
        print("kept out")
"""
OPEN = """
    import leat, time, os
    from dask.distributed import default_client

    @leat.on_iteration(variables=["u"], arrays="dask", scope="run")
    def show(ds, ctx):
        with open("part", "w") as file:
            file.write(default_client().scheduler.address)
        os.rename("part", "address")
        until = time.monotonic() + 20
        while not os.path.exists("go") and time.monotonic() < until:
            time.sleep(0.02)
        ctx.scalar("largest", float(ds["u"].max().compute()))
"""


def test_a_stranger_does_not_get_in(tmp_path):
    pytest.importorskip("cryptography")
    with ClusterRun(tmp_path, NODES, OPEN) as run:
        run.init()
        run.step(0)
        wait_until((tmp_path / "address").exists, "the scheduler's address")
        address = (tmp_path / "address").read_text()
        assert address.startswith("tls://")
        said = subprocess.run([sys.executable, "-c", STRANGER, address], capture_output=True, text=True, check=True, timeout=60)
        (tmp_path / "go").touch()
        run.finish()
    assert said.stdout.split("\n")[:2] == ["kept out", "kept out"], said
    expect_right(tmp_path, 3, [0])


COUNTING = """
    import leat
    from dask.distributed import default_client

    def copied():
        from leat.cluster import node
        return node.copied

    @leat.on_iteration(variables=["u"], arrays="dask", scope="run")
    def count(ds, ctx):
        ctx.scalar("largest", float(ds["u"].max().compute()))
        ctx.scalar("copied", sum(default_client().run(copied).values()))
        ctx.scalar("workers", len(default_client().scheduler_info()["workers"]))
"""


def test_what_is_used_where_it_lies_is_not_copied(tmp_path):
    with ClusterRun(tmp_path, NODES, COUNTING) as run:
        run.init()
        for i in range(3):
            run.step(i)
        run.finish()
    rows = rows_of(tmp_path)
    assert [(int(row["copied"]), int(row["workers"])) for row in rows.values()] == [(0, 3)] * 3
    expect_right(tmp_path, 3, range(3))

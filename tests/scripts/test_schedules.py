# SPDX-License-Identifier: Apache-2.0
"""On which cores, and when, scripts run: runs="server" and runs="idle"."""
import os

import pytest
from script_run import config, put, script_run, table, write_iterations
from without_xarray import without_xarray  # noqa: F401

# Threads that a library starts when it is imported, and those that a call starts.
WITNESS = """
import os, threading
def seen(what):
    def keep():
        found[what] = (os.sched_getscheduler(0), sorted(os.sched_getaffinity(0)))
    thread = threading.Thread(target=keep)
    thread.start()
    thread.join()
found = {}
seen("imported")
def process(ds, ctx):
    seen("called")
    ctx.scalar("idle", sum(policy == os.SCHED_IDLE for policy, _ in found.values()) + (os.sched_getscheduler(0) == os.SCHED_IDLE))
    ctx.scalar("cores", len(os.sched_getaffinity(0)))
    ctx.scalar("threads", int(os.environ["OMP_NUM_THREADS"]))
    ctx.scalar("sum", float(ds["a"].view("u8").sum()))
"""


def run(folder, scripts="", **environment):
    put(folder, "witness", WITNESS)
    with script_run(folder, config(scripts=scripts), environment=environment) as running:
        write_iterations(running, range(4))
    rows = table(folder, "witness")
    assert len(rows) == 4, running.log()
    return rows


@pytest.mark.parametrize("scripts, environment", [('runs="idle"', {}), ("", {"LEAT_RUNS": "idle"}),
                                                  ('runs="server"', {"LEAT_RUNS": "idle"})])
def test_idle_scripts_run_on_all_cores_in_the_time_that_nobody_wants(tmp_path, scripts, environment):
    cores = len(os.sched_getaffinity(0))
    for row in run(tmp_path, scripts, **environment):
        assert (row["idle"], row["cores"], row["threads"]) == ("3", str(cores), str(cores))


@pytest.mark.parametrize("scripts, environment", [("", {}), ('runs="idle"', {"LEAT_RUNS": "server"})])
def test_scripts_of_the_server_are_like_other_processes(tmp_path, scripts, environment):
    for row in run(tmp_path, scripts, **environment):
        assert (row["idle"], row["threads"]) == ("0", "1")


def test_what_they_compute_is_the_same(tmp_path):
    sums = []
    for name, scripts in (("a", ""), ("b", 'runs="idle"')):
        (tmp_path / name).mkdir()
        sums.append([row["sum"] for row in run(tmp_path / name, scripts)])
    assert sums[0] == sums[1]


def test_a_schedule_that_there_is_not_is_refused(tmp_path):
    with pytest.raises(AssertionError, match='LEAT_RUNS="concerted": it is one of "server" "sync" "idle"'):
        run(tmp_path, LEAT_RUNS="concerted")

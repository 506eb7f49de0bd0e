# SPDX-License-Identifier: Apache-2.0
"""<dask scheduler-file="...">: functions of the whole run on the user's own Dask scheduler, and what is said where it cannot be used."""
import contextlib
import http.server
import json
import os
import socket
import subprocess
import threading
import time

import numpy as np
import pytest
from cluster_run import ClusterRun, interpreter_with, rows_of, whole
from control_run import wait_until
from dask_schedulers import dask_of, start_scheduler

SHOWING = """
    import leat
    from dask.distributed import default_client

    def negated(block):
        return -block

    @leat.on_iteration(variables=["u"], arrays="dask", scope="run")
    def show(ds, ctx):
        ctx.scalar("largest", float(ds["u"].max().compute()))
        ctx.scalar("own", float(ds["u"].data.map_blocks(negated).min().compute()))  # the scheduler has no such module
        client = default_client()
        print("of", client.scheduler.address, "with", sorted(client.nthreads().values()))
"""

@contextlib.contextmanager
def scheduler(folder, dask):
    """(process, file)"""
    file = folder / "dask.json"
    process = start_scheduler(interpreter_with(dask), file)
    try:
        yield process, file
    finally:
        process.kill()
        process.wait()


def run_with(folder, dask="Debian", iterations=2, said=None, words="timeout='5s'", code=SHOWING, between=lambda i: None):
    inside = f"<dask scheduler-file='dask.json' {words}/>"
    with ClusterRun(folder, [[0], [1]], code, interpreter=interpreter_with(dask), inside=inside,
                    attributes='timeout="20s" failures="9"') as run:
        run.init()
        for i in range(iterations):
            between(i)
            run.step(i)
        run.finish()
        log = run.log()
    assert said is None or said in log, log
    return log


def expect_right(folder, iterations):
    rows = rows_of(folder)
    assert sorted(rows) == sorted(iterations)
    for i, row in rows.items():
        assert np.float64(row["largest"]) == whole(i, 2).max() == -np.float64(row["own"])


@pytest.mark.parametrize("dask", ["Debian", "PyPI"])
def test_the_workers_are_of_the_users_scheduler_and_leave_it_at_the_end(tmp_path, dask):
    with scheduler(tmp_path, dask) as (process, file):
        address = json.loads(file.read_text())["address"]
        log = run_with(tmp_path, dask, 3, words="threads='3' timeout='20s'")
        assert process.poll() is None
        assert log.count(f"of {address} with [3, 3]") == 3, log
        left = dask_of(interpreter_with(dask)).run(f"import distributed; print(distributed.Client({address!r}).nthreads())")
        assert left.stdout.strip() == "{}", left
    expect_right(tmp_path, range(3))


def test_a_worker_of_somebody_else_takes_part(tmp_path):
    with scheduler(tmp_path, "Debian") as (_, file):
        words = [interpreter_with("Debian"), "-m", "distributed.cli.dask_worker", "--scheduler-file", file, "--no-nanny", "--no-dashboard",
                 "--nthreads", "1"]
        other = subprocess.Popen(list(map(str, words)), cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            ask = "import distributed; print(distributed.Client(scheduler_file='dask.json').nthreads())"
            wait_until(lambda: "{}" not in dask_of(interpreter_with("Debian")).run(ask, cwd=tmp_path).stdout, "the other worker")
            log = run_with(tmp_path, words="threads='2' timeout='20s'")
            assert "with [1, 2, 2]" in log, log
            assert other.poll() is None
        finally:
            other.kill()
            other.wait()
    expect_right(tmp_path, range(2))


@pytest.mark.parametrize("text, said", [
    (None, "there is no Dask scheduler: dask.json: No such file or directory"),
    ("no JSON", "is not what dask-scheduler --scheduler-file writes"),
    ('["id", "address"]', "is not what dask-scheduler --scheduler-file writes"),
    ('{"id": "s"}', "is not what dask-scheduler --scheduler-file writes"),
    ('{"id": "s", "address": "inproc://127.0.0.1/1/1"}', "one of tcp:// or tls:// with a port is expected"),
    ('{"id": "s", "address": "tcp://127.0.0.1:1"}', "there is nobody at 127.0.0.1, port 1"),
])
def test_a_file_that_says_nothing_useful_is_an_error_with_a_reason_on_all_servers(tmp_path, text, said):
    if text is not None:
        (tmp_path / "dask.json").write_text(text)
    began = time.monotonic()
    log = run_with(tmp_path, said=said)
    assert rows_of(tmp_path) == {} and time.monotonic() - began < 40
    assert log.count(f"ConnectionError: {said[:20]}") + log.count("ConnectionError: dask.json") >= 2, log  # both servers know why


@contextlib.contextmanager
def somebody(kind):
    """Who listens and is no scheduler; the port."""
    if kind == "web":
        server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()
        server.server_close()
        return
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


@pytest.mark.parametrize("kind", ["web", "silent"])
@pytest.mark.parametrize("dask", ["Debian", "PyPI"])
def test_who_listens_there_and_is_no_scheduler_is_not_waited_for(tmp_path, kind, dask):
    with somebody(kind) as port:
        (tmp_path / "dask.json").write_text(json.dumps({"id": "s", "address": f"tcp://127.0.0.1:{port}"}))
        run_with(tmp_path, dask, said="does not speak as one of this version of Dask", words="timeout='2s'")
    assert rows_of(tmp_path) == {}


def test_a_file_of_another_scheduler_than_the_one_that_is_there_now_is_stale(tmp_path):
    with scheduler(tmp_path, "Debian") as (_, file):
        told = json.loads(file.read_text())
        file.write_text(json.dumps({**told, "id": "Scheduler-of-yesterday"}))
        run_with(tmp_path, said="is of another scheduler (Scheduler-of-yesterday) than the one that is at", words="timeout='20s'")
    assert rows_of(tmp_path) == {}


@pytest.mark.parametrize("dask, other", [("Debian", "PyPI"), ("PyPI", "Debian")])
def test_a_scheduler_with_another_dask_is_an_error_with_both_versions_or_that_it_does_not_speak(tmp_path, dask, other):
    with scheduler(tmp_path, other):
        log = run_with(tmp_path, dask, words="timeout='10s'")
    assert rows_of(tmp_path) == {}
    assert ("both have to be the same" in log and "dask 2022.12.1" in log and "dask 202" in log) or "of this version of Dask" in log, log


def test_a_scheduler_that_ends_costs_iterations_until_another_one_has_written_the_file(tmp_path):
    with scheduler(tmp_path, "Debian") as (first, _), contextlib.ExitStack() as second:
        def between(i):
            if i == 1:
                wait_until(lambda: 0 in rows_of(tmp_path), "iteration 0")
                first.kill()
                first.wait()
            if i == 2:
                wait_until(lambda: "iteration 1" in "".join(p.read_text() for p in tmp_path.glob("rank*.err")), "the error of iteration 1")
                os.remove(tmp_path / "dask.json")
                second.enter_context(scheduler(tmp_path, "Debian"))
        run_with(tmp_path, iterations=5, between=between, words="timeout='10s'")
    rows = rows_of(tmp_path)
    assert 1 not in rows and {0, 3, 4} <= set(rows)
    expect_right(tmp_path, rows)

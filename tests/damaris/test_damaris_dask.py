# SPDX-License-Identifier: Apache-2.0
"""Scripts for Damaris that work with Dask: a real scheduler, a worker of the run's own, and damaris4py over them."""
import json
import os
import re
import signal
import time

import numpy as np
import pytest
from damaris_scripts import config, log_of, processes_with, script_processes, with_python
from dask_schedulers import dask_of, start_scheduler
from leat_run import LIMIT, Run, data
from readers import python_of


@pytest.fixture
def scheduler(tmp_path):
    """(Python, scheduler file) of a scheduler on this machine's loopback."""
    python = str(python_of("dask"))
    file = tmp_path / "dask.json"
    process = start_scheduler(python, file)
    yield python, file
    process.terminate()
    process.wait()


def ask(scheduler, code):
    """What a client of the scheduler prints."""
    python, file = scheduler
    done = dask_of(python).run(f"from dask.distributed import Client\nwith Client(scheduler_file={str(file)!r}) as client:\n    {code}\n")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def names(scheduler):
    return ask(scheduler, "print([w['id'] for w in client.scheduler_info()['workers'].values()])")


def write_all(run, iterations, between=lambda run, iteration: None):
    for rank in run.init():
        rank.must("set_int", "size", len(run.ranks))
        rank.must("set_position", "cube_i", 0, f"{rank.number * 8 // len(run.ranks)},0,0")
    for iteration in range(iterations):
        for rank in run.ranks:
            assert rank.write("cube_i", 64 // len(run.ranks) * 4, 10 * iteration + rank.number).ok
            rank.end()
        between(run, iteration)


STATISTICS = '''
def main(DD):
    from dask.distributed import Client
    from damaris4py.server import getservercomm
    from damaris4py.dask import damaris_dask, damaris_stats
    scheduler_file = damaris_dask.return_scheduler_filename(DD)
    client = Client(scheduler_file=scheduler_file, timeout='10s')
    client.wait_for_workers(1, timeout=60)
    x = damaris_dask.return_dask_array(DD, client, 'cube_i', getservercomm(), print_array_component=False)
    print('shape', x.shape, 'sum', int(x.sum().compute()))
    stats = damaris_stats.DaskStats('unique', 'lock')
    stats.update(x, client, lock_timeout=60)
    if damaris_dask.return_iteration(DD) == 3:
        mean, variance = stats.return_mean_var_tuple(client)
        print('count', stats.return_count(client), 'mean', repr(float(mean.sum().compute())),
              'variance', repr(float(variance.sum().compute())))
    client.close()

if __name__ == '__main__':
    main(DamarisData)
'''


@pytest.mark.parametrize("ranks", [1, 2])
def test_blocks_are_an_array_of_dask_and_its_statistics_those_of_numpy(tmp_path, scheduler, ranks):
    (tmp_path / "script.py").write_text(STATISTICS)
    dask = f'scheduler-file="{scheduler[1]}" nthreads="1" keep-workers="no" timeout="20"'
    seen = []
    with Run(tmp_path, config(dask=dask), ranks=ranks, environment=with_python(tmp_path, scheduler[0])) as run:
        write_all(run, 4)
        seen = run.finalize()
    assert all(answer.ok for answer in seen), log_of(tmp_path)
    whole = [np.concatenate([data(64 // ranks, "i4", 10 * i + r) for r in range(ranks)]).astype("f8") for i in range(4)]
    log = log_of(tmp_path)
    assert re.findall(r"shape \(8, 4, 2\) sum (-?\d+)", log) == [str(int(each.sum())) for each in whole], log
    mean, variance = re.search(r"count 4 mean (\S+) variance (\S+)", log).groups()
    assert np.isclose(float(mean), np.mean(whole, axis=0).sum()) and np.isclose(float(variance), np.var(whole, axis=0, ddof=1).sum())
    assert names(scheduler) == "[]", "the worker ends with the run"


WAIT = '''
import json, os
def main(DD):
    from dask.distributed import Client
    with Client(scheduler_file=DD['dask_env']['dask_scheduler_file'], timeout='10s') as client:
        found = []
        while not found:  # the one that was there may be killed in between
            client.wait_for_workers(1, timeout=60)
            found = [w['id'] for w in client.scheduler_info()['workers'].values()]
    with open("told.jsonl", "a") as file:
        print(json.dumps([DD['iteration_data']['iteration'], found, DD['dask_env'], os.getpid()]), file=file)

main(DamarisData)
'''


def test_the_worker_has_the_name_that_the_script_is_told(tmp_path, scheduler):
    (tmp_path / "script.py").write_text(WAIT)
    dask = f'scheduler-file="{scheduler[1]}" nthreads="2" timeout="20"'
    with Run(tmp_path, config(dask=dask), environment=with_python(tmp_path, scheduler[0])) as run:
        write_all(run, 2)
        run.finish()
    for line in (tmp_path / "told.jsonl").read_text().splitlines():
        _, found, told, _ = json.loads(line)
        assert found == [told["dask_workers_name"]] and told["dask_threads_per_worker"] == 2
        assert told["dask_scheduler_file"] == str(scheduler[1]) and told["dask_workers_name"].startswith("run_")


def dask_workers(scheduler):
    words = ["--scheduler-file", str(scheduler[1]), "--name"]
    return processes_with(*(word.encode() for word in words))


@pytest.mark.parametrize("whom", ["process of the script", "server", "Dask worker"])
def test_the_worker_ends_with_a_process_that_is_killed_and_the_next_has_one(tmp_path, scheduler, whom):
    (tmp_path / "script.py").write_text(WAIT)

    def kill(run, iteration):
        if iteration != 2:
            return
        until = time.monotonic() + LIMIT
        while not (tmp_path / "told.jsonl").exists() and time.monotonic() < until:
            time.sleep(0.05)
        victims = {"process of the script": script_processes(run), "server": run.servers(),
                   "Dask worker": dask_workers(scheduler)}[whom]
        assert victims
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
    dask = f'scheduler-file="{scheduler[1]}" timeout="20"'
    with Run(tmp_path, config(dask=dask), environment=with_python(tmp_path, scheduler[0])) as run:
        write_all(run, 6, kill)
        run.finalize()
    told = [json.loads(line) for line in (tmp_path / "told.jsonl").read_text().splitlines()]
    assert told[-1][0] == 5 and len({pid for *_, pid in told}) == (1 if whom == "Dask worker" else 2)
    assert all(len(found) == 1 for _, found, *_ in told)
    assert names(scheduler) == "[]" and not dask_workers(scheduler)

# SPDX-License-Identifier: Apache-2.0
"""Jobs of Grid Engine as `leat launch` prints them, on a cluster that is this machine: whatever ends a job, the file has all that its
ranks had written, and the nodes are as they were."""
import os
import signal

import pytest
from batch_cluster import wait_for
from batch_jobs import (
    ENDLESS,
    RUNTIME,
    expect_a_core_for_each_server,
    expect_all_that_was_written,
    expect_nothing_left,
    expect_the_logs_to_say_who_died,
    job_file,
    memory_on,
    processes_in,
    stop_servers,
    wait_until_something_is_stored,
)
from grid_engine_cluster import COUNTS, GridEngine

FIRST = "-q", "all.q@node0"
BY_SIGNAL = 100  # sge_status(5): the script itself was ended by one


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    with GridEngine(tmp_path_factory.mktemp("grid") / "c", notify=8) as cluster:
        yield cluster


def submit(grid, folder, *options):
    words = ("qsub", "-terse", "-V", "-j", "y", "-o", "job.txt", *options, "heat.job")
    return int(grid.output(*words, cwd=folder, LEAT_RUNTIME_DIR=RUNTIME).strip())


def running(grid, folder, *options, nodes=1, but_for=""):
    """The number of an endless job of which something is in the file already."""
    text = job_file(grid, "sge", folder, ENDLESS, "--launcher", "openmpi", nodes=nodes)
    (folder / "heat.job").write_text(text.replace(but_for, ""))
    number = submit(grid, folder, *options)
    wait_until_something_is_stored(folder)
    return number


@pytest.mark.parametrize("nodes", COUNTS)
def test_the_job_file_of_leat_launch_runs_with_a_core_for_the_server_of_each_node(grid, tmp_path, nodes):
    job_file(grid, "sge", tmp_path, 201, "--launcher", "openmpi", nodes=nodes)
    assert grid.end_of(submit(grid, tmp_path)) == (0, 0), (tmp_path / "job.txt").read_text()
    expect_all_that_was_written(tmp_path, steps=201, nodes=nodes)
    expect_a_core_for_each_server(grid, tmp_path, nodes)
    expect_nothing_left(grid, tmp_path)


@pytest.mark.parametrize("nodes", COUNTS)
def test_what_a_deleted_job_had_written_is_in_the_file(grid, tmp_path, nodes):
    """-notify: it has SIGUSR2 some seconds before SIGKILL."""
    number = running(grid, tmp_path, nodes=nodes)
    grid.output("qdel", number)
    assert grid.end_of(number) == (0, 128 + signal.SIGUSR2)
    expect_all_that_was_written(tmp_path, nodes=nodes)
    expect_the_logs_to_say_who_died(tmp_path, nodes)
    expect_nothing_left(grid, tmp_path)


def test_what_a_job_had_written_whose_time_was_over_is_in_the_file(grid, tmp_path):
    """s_rt: it has SIGUSR1 some seconds before SIGKILL."""
    number = running(grid, tmp_path, "-l", "s_rt=0:0:8")
    assert grid.end_of(number) == (0, 128 + signal.SIGUSR1)
    expect_all_that_was_written(tmp_path)
    expect_nothing_left(grid, tmp_path)


@pytest.mark.parametrize(("end", "nodes"), list(zip((signal.SIGSEGV, signal.SIGKILL), COUNTS)))
def test_what_a_job_had_written_whose_rank_died_is_in_the_file(grid, tmp_path, end, nodes):
    number = running(grid, tmp_path, nodes=nodes)
    ranks = stop_servers(tmp_path)
    os.kill(ranks[0], end)
    for server in processes_in(tmp_path, "leatd"):
        os.kill(server, signal.SIGCONT)
    assert grid.end_of(number) == (0, 128 + end)
    expect_all_that_was_written(tmp_path, nodes=nodes)
    expect_nothing_left(grid, tmp_path)


@pytest.mark.parametrize("nodes", COUNTS)
def test_what_a_job_had_written_whose_servers_were_killed_with_it_is_in_the_file(grid, tmp_path, nodes):
    number = running(grid, tmp_path, nodes=nodes)
    ranks = stop_servers(tmp_path)
    for each in processes_in(tmp_path, "leatd") + ranks:
        os.kill(each, signal.SIGKILL)
    assert grid.end_of(number) == (0, 128 + signal.SIGKILL)
    expect_all_that_was_written(tmp_path, nodes=nodes)
    expect_nothing_left(grid, tmp_path)
    assert (tmp_path / "job.txt").read_text().count("that were in memory are stored now") == nodes


def test_what_a_job_had_in_memory_that_was_killed_at_once_is_stored_by_the_next_one(grid, tmp_path):
    """Without -notify. Grid Engine kills the server too, which it knows by a group of users of the job's own, but for root it does not."""
    for each in ("first", "next"):
        (tmp_path / each).mkdir()
    number = running(grid, tmp_path / "first", *FIRST, but_for="#$ -notify\n")
    stop_servers(tmp_path / "first")
    grid.output("qdel", number)
    assert grid.end_of(number) == (BY_SIGNAL, 128 + signal.SIGKILL)
    for server in processes_in(tmp_path / "first", "leatd"):
        os.kill(server, signal.SIGKILL)
    wait_for("processes of the job do not end", lambda: not processes_in(tmp_path / "first"))
    assert memory_on(grid, "node0")
    job_file(grid, "sge", tmp_path / "next", 41, "--launcher", "openmpi")
    assert grid.end_of(submit(grid, tmp_path / "next", *FIRST)) == (0, 0)
    expect_all_that_was_written(tmp_path / "first")
    expect_all_that_was_written(tmp_path / "next", steps=41)
    expect_nothing_left(grid, tmp_path / "first")


def test_a_job_ends_with_the_code_of_its_program(grid, tmp_path):
    job_file(grid, "sge", tmp_path, 41, "--launcher", "openmpi")
    text = (tmp_path / "heat.job").read_text()
    (tmp_path / "heat.job").write_text(text.replace("heat.xml 41", "none.xml 41"))
    assert grid.end_of(submit(grid, tmp_path)) == (0, 1)
    assert "none.xml" in (tmp_path / "job.txt").read_text()

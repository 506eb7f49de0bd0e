# SPDX-License-Identifier: Apache-2.0
"""Jobs of Slurm as `leat launch` prints them, on a cluster that is this machine: whatever ends a job, the file has all that its
ranks had written, and the nodes are as they were."""
import os
import signal

import pytest
from batch_jobs import (
    ENDLESS,
    RUNTIME,
    expect_a_core_for_each_server,
    expect_all_that_was_written,
    expect_nothing_left,
    expect_the_logs_to_say_who_died,
    job_file,
    stop_servers,
    wait_until_something_is_stored,
)
from slurm_cluster import Slurm


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    with Slurm(tmp_path_factory.mktemp("slurm") / "c") as cluster:
        yield cluster


def submit(slurm, folder):
    words = ("sbatch", "--parsable", "--time=10", "--output=job.txt", "heat.job")
    return int(slurm.output(*words, cwd=folder, LEAT_RUNTIME_DIR=RUNTIME).strip())


def running(slurm, folder, *options, nodes=1):
    """The number of an endless job of which something is in the file already."""
    job_file(slurm, "slurm", folder, ENDLESS, *options, nodes=nodes)
    number = submit(slurm, folder)
    wait_until_something_is_stored(folder)
    return number


@pytest.mark.parametrize(("launcher", "nodes"), [("slurm", 2), ("openmpi", 1)])
def test_the_job_file_of_leat_launch_runs_with_a_core_for_the_server_of_each_node(slurm, tmp_path, launcher, nodes):
    text = job_file(slurm, "slurm", tmp_path, 201, "--launcher", launcher, nodes=nodes)
    assert ("\nmpirun " in text) == (launcher == "openmpi")
    assert slurm.end_of(submit(slurm, tmp_path)) == ("COMPLETED", "0:0"), (tmp_path / "job.txt").read_text()
    expect_all_that_was_written(tmp_path, steps=201, nodes=nodes)
    expect_a_core_for_each_server(slurm, tmp_path, nodes)
    expect_nothing_left(slurm, tmp_path)


@pytest.mark.parametrize(("launcher", "nodes"), [("slurm", 1), ("slurm", 2), ("openmpi", 1)])
def test_what_a_cancelled_job_had_written_is_in_the_file(slurm, tmp_path, launcher, nodes):
    number = running(slurm, tmp_path, "--launcher", launcher, nodes=nodes)
    slurm.output("scancel", number)
    assert slurm.end_of(number)[0] == "CANCELLED"
    expect_all_that_was_written(tmp_path, nodes=nodes)
    expect_nothing_left(slurm, tmp_path)
    expect_the_logs_to_say_who_died(tmp_path, nodes)


def test_what_a_job_had_written_that_was_warned_of_its_end_is_in_the_file(slurm, tmp_path):
    """`#SBATCH --signal=TERM@60` does this a minute before the end: the steps have SIGTERM, the script does not."""
    number = running(slurm, tmp_path)
    slurm.output("scancel", "--signal=TERM", number)
    assert slurm.end_of(number) == ("FAILED", "143:0")
    expect_all_that_was_written(tmp_path)
    expect_nothing_left(slurm, tmp_path)


@pytest.mark.parametrize(("end", "nodes"), [(signal.SIGSEGV, 1), (signal.SIGKILL, 2)])
def test_what_a_job_had_written_whose_rank_died_is_in_the_file(slurm, tmp_path, end, nodes):
    number = running(slurm, tmp_path, nodes=nodes)
    os.kill(stop_servers(tmp_path)[0], end)
    state, code = slurm.end_of(number)
    assert state == "FAILED" and (nodes > 1 or code == f"{128 + end}:0")
    expect_all_that_was_written(tmp_path, nodes=nodes)
    expect_nothing_left(slurm, tmp_path)
    assert "that were in memory are stored now" in (tmp_path / "job.txt").read_text()


def test_a_job_ends_with_the_code_of_its_program(slurm, tmp_path):
    job_file(slurm, "slurm", tmp_path, 41)
    text = (tmp_path / "heat.job").read_text()
    (tmp_path / "heat.job").write_text(text.replace("heat.xml 41", "none.xml 41"))
    assert slurm.end_of(submit(slurm, tmp_path)) == ("FAILED", "1:0")
    assert "none.xml" in (tmp_path / "job.txt").read_text()

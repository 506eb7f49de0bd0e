# SPDX-License-Identifier: Apache-2.0
"""Containers on one node: each has its own process ids and its own runtime folder, and all share /dev/shm. A session of the
same name in two of them is two sessions. Needs the right to make a process namespace (root has it); without it these fail."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import time

import h5py
import pytest
from leat_run import BUILD, LIMIT, Run, data, same_bits, xml

ROW = '<layout name="row" type="int" dimensions="5"/><variable name="a" layout="row"/>'
CONTAINER = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")


def container(folder, session=None, runtime=None, text=None, **more):
    """A run of one rank in process namespace of its own; its leatd starts there as well."""
    folder.mkdir()
    if runtime:
        more["environment"] = {"LEAT_RUNTIME_DIR": str(runtime)}
    run = Run(folder, text or xml(ROW, timeout="5s"), prefix=CONTAINER, **more)
    if session:
        run.session = session
    if runtime:
        run.runtime = runtime
    return run


def servers_of(run):
    """Two runs have one session name here: leatd is told by the folder that it works in."""
    return [pid for pid in run.servers() if folder_of(pid) == str(run.folder)]


def folder_of(pid):
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
        return os.readlink(f"/proc/{pid}/cwd")


def write_rows(rank, first, count, seed):
    for iteration in range(first, first + count):
        assert rank.write("a", 20, seed + iteration).ok
        rank.end()


def expect_rows(path, count, seed):
    with h5py.File(path) as file:
        assert file["iteration"][:].tolist() == list(range(count))
        assert file["leat/iteration_complete"][:].tolist() == [1] * count
        for iteration in range(count):
            assert same_bits(file["a"][iteration].reshape(-1), data(5, "i4", seed + iteration))


def kill_server(run):
    (pid,) = servers_of(run)
    os.kill(pid, signal.SIGKILL)
    until = time.monotonic() + LIMIT
    while servers_of(run):
        assert time.monotonic() < until
        time.sleep(0.002)


def test_a_second_container_with_the_same_session_name_has_a_server_and_a_segment_of_its_own(tmp_path):
    with container(tmp_path / "one") as one, container(tmp_path / "two", one.session) as two:
        (first,) = one.init()
        write_rows(first, 0, 20, 100)
        (second,) = two.init()
        assert len(one.segments()) == 2
        for turn in range(20):
            write_rows(second, turn, 1, 500)
            write_rows(first, 20 + turn, 1, 100)
        two.finish()
        until = time.monotonic() + LIMIT
        while servers_of(two):
            assert time.monotonic() < until
            time.sleep(0.01)
        write_rows(first, 40, 5, 100)
        one.finish()
    expect_rows(tmp_path / "one" / "run.h5", 45, 100)
    expect_rows(tmp_path / "two" / "run.h5", 20, 500)


def test_what_a_killed_server_left_in_one_container_is_not_taken_over_by_another_one(tmp_path):
    with container(tmp_path / "one") as one, container(tmp_path / "two", one.session) as two:
        (first,) = one.init()
        write_rows(first, 0, 20, 100)
        kill_server(one)  # its rank computes and has not noticed
        (second,) = two.init()
        write_rows(second, 0, 20, 500)
        write_rows(first, 20, 20, 100)
        two.finish()
        one.finish()
    expect_rows(tmp_path / "one" / "run.h5", 40, 100)
    expect_rows(tmp_path / "two" / "run.h5", 20, 500)


def write_until_served(run, rank, first):
    """A rank notices the death of its server after a tenth of a second. Returns the number of the next row."""
    until = time.monotonic() + LIMIT
    write_rows(rank, first, 1, 100)
    while not servers_of(run):
        assert time.monotonic() < until, "no server follows"
        time.sleep(0.02)
        first += 1
        write_rows(rank, first, 1, 100)
    return first + 1


def test_starts_and_cleaning_in_one_container_take_nothing_from_another_one(tmp_path):
    with container(tmp_path / "one") as one:
        (first,) = one.init()
        written = write_until_served(one, first, 0)
        for turn in range(4):
            (server,) = servers_of(one)
            stopped = turn % 2 == 0
            os.kill(server, signal.SIGSTOP if stopped else signal.SIGKILL)
            with container(tmp_path / f"other{turn}") as other:
                other.init()
                other.finish()
            clean = subprocess.run([*CONTAINER, BUILD / "bin" / "leat", "clean", "--json"], capture_output=True, text=True,
                                   timeout=LIMIT, env={**os.environ, "LEAT_RUNTIME_DIR": str(tmp_path / f"clean{turn}")})
            assert one.session in {entry["session"] for entry in json.loads(clean.stdout)["alive"]}, clean
            assert len(one.segments()) == 1
            if stopped:
                os.kill(server, signal.SIGCONT)
            written = write_until_served(one, first, written)
        one.finish()
    expect_rows(tmp_path / "one" / "run.h5", written, 100)


def test_a_second_container_in_the_same_runtime_folder_is_refused_and_told_what_to_do(tmp_path):
    with container(tmp_path / "one") as one:
        (first,) = one.init()
        write_rows(first, 0, 3, 100)
        two = container(tmp_path / "two", one.session, one.runtime)
        answer = two.ranks[0].init()
        assert answer.status == "LEAT_ERROR_STATE" and "LEAT_SESSION" in answer.error, answer
        two.ranks[0].stop_process()
        write_rows(first, 3, 3, 100)
        one.finish()
    expect_rows(tmp_path / "one" / "run.h5", 6, 100)


def test_two_containers_that_write_into_one_folder_have_a_file_each(tmp_path):
    shared = tmp_path / "out"
    shared.mkdir()
    store = f'<store name="out" type="hdf5" folder="{shared}"/>'
    text = xml(ROW, timeout="5s", store=store)
    with container(tmp_path / "one", text=text) as one, container(tmp_path / "two", one.session, text=text) as two:
        (first,), (second,) = one.init(), two.init()
        write_rows(first, 0, 10, 100)
        write_rows(second, 0, 10, 500)
        answers = [one.finalize()[0], two.finalize()[0]]
        told = one.log() + two.log() + "".join(a.error for a in answers)
    files = sorted(p.name for p in shared.iterdir() if p.suffix == ".h5")
    stored = {same_bits(h5py.File(shared / name)["a"][0].reshape(-1), data(5, "i4", 100)) for name in files}
    if len(files) == 2:
        assert stored == {True, False}
    else:  # the second was refused the file, and said so
        assert [a.status for a in answers].count("LEAT_ERROR_LOST") == 1 and "run.h5" in told, (answers, told)


@pytest.fixture(autouse=True)
def may_make_namespaces():
    made = subprocess.run([*CONTAINER, "true"], capture_output=True, text=True, check=False)
    assert made.returncode == 0, f"these tests need `{' '.join(CONTAINER)}`: {made.stderr}"
    assert pathlib.Path("/dev/shm").is_dir()

# SPDX-License-Identifier: Apache-2.0
"""Where a server runs, where its memory lies, and what is said of that."""
import json
import os
import pathlib
import struct
import sys
import time

import h5py
import pytest
from leat_run import LIMIT, Run, data, same_bits, xml
from stored_blocks import stored_blocks, stored_ranks

MIB = 1 << 20
LARGE = 4 * MIB
VARIABLES = """
    <layout name="large" type="int" dimensions="1048576"/>
    <layout name="small" type="int" dimensions="256"/>
    <variable name="a" layout="large"/>
    <variable name="b" layout="small"/>"""
CPUS = sorted(os.sched_getaffinity(0))
two_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="a machine of two processors is needed")


def run_xml(numa="client", cores=1):
    text = xml(VARIABLES, buffer="64MiB", log='<log level="debug"/>')
    return text.replace('timeout="10s"', f'timeout="10s" numa="{numa}"').replace('cores="1"', f'cores="{cores}"')


def two_nodes(folder):
    """A description of two nodes of one processor each, whatever there is."""
    file = folder / "machine.json"
    file.write_text(json.dumps({"leat_machine": 1, "nodes": [{"cpus": str(CPUS[0]), "memory_mib": 1024},
                                                             {"cpus": str(CPUS[-1]), "memory_mib": 1024}]}))
    return {"LEAT_MACHINE": str(file)}


def bind(rank, *cpus):
    os.sched_setaffinity(rank.process.pid, cpus)


def bound_to(pid):
    """Affinities of all threads of a process."""
    return {tuple(sorted(os.sched_getaffinity(int(task.name)))) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()}


def workers_of(pid):
    tasks = pathlib.Path(f"/proc/{pid}/task")
    children = [int(child) for task in tasks.iterdir() for child in (task / "children").read_text().split()]
    return [c for c in children if b"worker" in pathlib.Path(f"/proc/{c}/cmdline").read_bytes().split(b"\0")]


def large_leases(run):
    """Per client the places in the data, from 0 to 1, of leases for one block; lib/shm/layout.hpp has the words."""
    (segment,) = run.segments()
    with open(segment, "rb") as file:
        head = file.read(128)
        data_offset, data_bytes, unit = struct.unpack_from("<QQQ", head, 56)
        (leases_offset,) = struct.unpack_from("<Q", head, 120)
        file.seek(leases_offset)
        records = file.read(data_bytes // unit * 32)
    found = {}
    for i, (lease, size, client, flags, _) in enumerate(struct.iter_unpack("<QQIIQ", records)):
        if lease and flags & 1:
            found.setdefault(client, []).append((i * unit / data_bytes, (i * unit + size) / data_bytes))
    return found


def check_file(folder, ranks, iterations):
    with h5py.File(folder / "run.h5") as file:
        for iteration in range(iterations):
            for rank in range(ranks):
                seed = 10 * iteration + rank
                assert same_bits(stored_ranks(file, "a", iteration)[rank], data(LARGE // 4, "i4", seed))
                assert same_bits(stored_ranks(file, "b", iteration)[rank], data(256, "i4", seed))


def write_all(run, iterations):
    for iteration in range(iterations):
        for rank in run.ranks:
            assert rank.write("a", LARGE, 10 * iteration + rank.number).ok
            assert rank.write("b", 1024, 10 * iteration + rank.number).ok
            rank.end()


def placement(folder):
    return json.loads((folder / "run.ledger.json").read_text())["placement"]


@two_cpus
def test_all_threads_of_the_server_and_what_it_starts_are_on_its_cores(tmp_path):
    folder = tmp_path / "scripts"
    folder.mkdir()
    (folder / "one.py").write_text("def process(ds, ctx):\n    pass\n")
    text = run_xml().replace("</simulation>", f'<scripts interpreter="{sys.executable}"><folder path="scripts"/></scripts></simulation>')
    with Run(tmp_path, text) as run:
        bind(run.ranks[0], CPUS[0])
        run.init()
        write_all(run, 2)
        server = run.server()
        rest = tuple(c for c in CPUS if c == CPUS[-1])
        assert bound_to(server) == {rest}
        assert len(os.listdir(f"/proc/{server}/task")) > 2, "there is more than the event loop"
        until = time.monotonic() + LIMIT
        while not (workers := workers_of(server)) or any(bound_to(w) != {rest} for w in workers):
            assert time.monotonic() < until, [bound_to(w) for w in workers]  # those that start are bound in a moment
            time.sleep(0.01)
        run.finish()
    assert placement(tmp_path) == {"server": f"core {CPUS[-1]}, memory node 0", "memory": "memory node 0", "warnings": []}


@two_cpus
@pytest.mark.skipif(len(CPUS) > 2, reason="ranks on all cores")
def test_ranks_on_all_cores_are_named_in_the_log_and_in_the_ledger(tmp_path):
    with Run(tmp_path, run_xml(), ranks=2) as run:
        for rank, cpu in zip(run.ranks, CPUS):
            bind(rank, cpu)
        run.init()
        write_all(run, 1)
        run.finish()
        warning = "no core is free for the server: it shares cores 0-1 with ranks 0-1, and output will cost them time"
        assert warning in run.log()
    noted = json.loads((tmp_path / "run.ledger.json").read_text())
    assert noted["placement"]["warnings"][0].startswith(warning)
    assert noted["status"] == "LEAT_OK", "nothing is amiss with the data"


@two_cpus
def test_a_server_that_has_fewer_cores_than_it_wants_says_so(tmp_path):
    with Run(tmp_path, run_xml(cores=len(CPUS))) as run:
        bind(run.ranks[0], CPUS[0])
        run.init()
        write_all(run, 1)
        run.finish()
        assert f"of the {len(CPUS)} cores for the server only {len(CPUS) - 1} can be had" in run.log()


# The second node is not there: that the kernel refuses it must not be noticed by the run.
@two_cpus
@pytest.mark.parametrize("numa", ["client", "server", "interleave"])
def test_memory_of_ranks_lies_at_the_nodes_that_the_xml_says_and_all_arrives(tmp_path, numa):
    with Run(tmp_path, run_xml(numa), ranks=2, environment=two_nodes(tmp_path)) as run:
        for rank in run.ranks:
            bind(rank, CPUS[-rank.number])  # the first and the last
        run.init()
        for rank in run.ranks:
            rank.must("alloc", "a", 0, LARGE, rank.number)
        leases = large_leases(run)
        for rank in run.ranks:
            rank.must("commit", "a", 0)
            assert rank.write("b", 1024, rank.number).ok
            rank.end()
        run.finish()
        log = run.log()
    check_file(tmp_path, 2, 1)
    if numa == "client":
        assert all(end < 0.55 for _, end in leases[0]), leases
        assert all(begin > 0.45 for begin, _ in leases[1]), leases
        assert "64 MiB on memory node 0 for rank 0, 1 for rank 1" in log
    else:
        assert all(begin > 0.45 for client in leases.values() for begin, _ in client), leases
        assert ("64 MiB on memory nodes 0-1 in turns" if numa == "interleave" else "64 MiB on memory node 0") in log


@two_cpus
def test_a_rank_may_use_the_memory_that_is_near_others(tmp_path):
    blocks = 12
    with Run(tmp_path, run_xml(), ranks=2, environment=two_nodes(tmp_path)) as run:
        for rank in run.ranks:
            bind(rank, CPUS[-rank.number])
        run.init()
        for block in range(blocks):
            run.ranks[0].must("alloc", "a", block, LARGE, block)
        assert len(large_leases(run)[0]) >= blocks
        for block in range(blocks):
            run.ranks[0].must("commit", "a", block)
        for rank in run.ranks:
            rank.end()
        run.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        for block in range(blocks):
            assert same_bits(stored_blocks(file, "a")[0, block], data(LARGE // 4, "i4", block))


# On several memory nodes the buffer is populated once all ranks are known, or known not to come.
@two_cpus
def test_a_run_goes_on_before_all_ranks_have_come_and_is_placed_when_one_never_does(tmp_path):
    with Run(tmp_path, run_xml(), ranks=2, environment=two_nodes(tmp_path)) as run:
        first, second = run.ranks
        bind(first, CPUS[0])
        assert first.init().ok
        for block in range(12):
            assert first.write("a", LARGE, block, block=block).ok
        first.end()
        second.kill()
        run.finalize([first])
        run.await_end()
        assert "server on core" in run.log()
    with h5py.File(tmp_path / "run.h5") as file:
        for block in range(12):
            assert same_bits(stored_blocks(file, "a")[0, block], data(LARGE // 4, "i4", block))


def test_a_machine_that_makes_no_sense_is_an_error_of_the_start(tmp_path):
    file = tmp_path / "machine.json"
    file.write_text('{"leat_machine": 1, "nodes": [{"cpus": "0", "memory": 5}]}')
    with Run(tmp_path, run_xml(), environment={"LEAT_MACHINE": str(file)}) as run:
        answer = run.ranks[0].init()
        assert answer.status == "LEAT_ERROR_CONFIG"
        assert 'nodes[0]: there is no "memory"; did you mean "memory_mib"?' in answer.error

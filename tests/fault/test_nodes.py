# SPDX-License-Identifier: Apache-2.0
"""Runs on several nodes in which one node is not as the others: its host is called alike, its disk is full, its XML is another one,
its server leaves iterations out. All of it is right, or said in view, ledger and status."""
import json
import os
import resource
import signal
import subprocess
import sys

import h5py
import numpy as np
import pytest
from control_run import wait_until
from leat_run import BUILD, Run, await_death, data, same_bits, xml
from nodes_run import NodesRun
from stored_blocks import stored_ranks
from without_xarray import without_xarray  # noqa: F401

LIST = '<layout name="list" type="int" dimensions="3"/><variable name="own" layout="list"/>'
SCRIPT = "def process(ds, ctx):\n    ctx.scalar('sum', float(ds['own'].sum()))\n"
ROOM = 1 << 17
THREE = [[0, 1], [2, 3], [4, 5]]


def iterate(ranks, numbers, size=12):
    for number in numbers:
        for rank in ranks:
            rank.must("write", "own", 0, size, 100 * number + rank.number)
        for rank in ranks:
            rank.end()


def ledgers(folder):
    """{name of the file: ledger}"""
    return {path.name: json.loads(path.read_text()) for path in folder.glob("*.ledger.json")}


def ranks_of(ledger):
    return {tuple(rank) for entry in ledger["entries"] for rank in entry["ranks"]}


def expect_own(path, rows, ranks, dtype="i4"):
    with h5py.File(path) as file:
        assert file["iteration"][:].tolist() == list(range(rows))
        for row in range(rows):
            stored = stored_ranks(file, "own", row)
            assert sorted(stored) == list(ranks)
            assert all(same_bits(stored[r].ravel(), data(3, dtype, 100 * row + r)) for r in ranks)


# ---- nodes whose hosts are called alike


def test_nodes_of_one_host_name_have_ledger_report_and_scripts_folder_of_their_own(tmp_path):
    (tmp_path / "s.py").write_text(SCRIPT)
    text = xml(LIST, log=f'<scripts interpreter="{sys.executable}"><script file="s.py" when-slow="wait"/></scripts>')
    host = os.uname().nodename
    with NodesRun(tmp_path, text, THREE) as run:
        iterate(run.init(), range(3))
        run.finish()
        assert run.log().count(f"another node of this run is called {host} too") == 2
    expect_own(tmp_path / "run.h5", 3, range(6))
    names = [host, f"{host}-2", f"{host}-3"]
    found = ledgers(tmp_path)
    assert set(found) == {f"run-{name}.ledger.json" for name in names}
    assert {frozenset(ranks_of(each)) for each in found.values()} == {frozenset([(2 * n, 2 * n + 1)]) for n in range(3)}
    assert {path.name for path in tmp_path.glob("*.report.json")} == {f"run-{name}.report.json" for name in names}
    short = host.partition(".")[0]
    assert {path.name for path in tmp_path.glob("run-scripts*")} == {f"run-scripts-{short}{number}" for number in ("", "-2", "-3")}
    assert not list(tmp_path.glob(".*.lock"))


def test_a_node_whose_host_name_no_other_has_is_called_by_it_alone(tmp_path):
    with Run(tmp_path, xml(LIST)) as run:
        (rank,) = run.ranks
        assert rank.call("init_ranks", run.config, run.session, 0, 2, 0, 1).ok
        iterate([rank], range(2))
        run.finish()
    assert set(ledgers(tmp_path)) == {f"run-{os.uname().nodename}.ledger.json"}


def test_a_server_that_takes_over_has_the_names_of_the_one_that_died(tmp_path):
    host = os.uname().nodename
    with NodesRun(tmp_path, xml(LIST), [[0, 1], [2, 3]]) as run:
        ranks = run.init()
        iterate(ranks, range(2))
        before = {name: each["run_id"] for name, each in ledgers(tmp_path).items()}
        for pid in run.servers():
            os.kill(pid, signal.SIGKILL)
        iterate(ranks, range(2, 4))
        run.finish()
    assert before == {name: each["run_id"] for name, each in ledgers(tmp_path).items()}
    assert set(before) == {f"run-{host}.ledger.json", f"run-{host}-2.ledger.json"}
    expect_own(tmp_path / "run.h5", 4, range(4))


def test_the_ledger_of_a_server_of_the_run_that_has_ended_is_kept(tmp_path):
    """Of a node whose host is called alike and whose ranks had ended before those of the other one began."""
    host = os.uname().nodename
    with NodesRun(tmp_path, xml(LIST), [[0, 1], [2, 3]]) as run:
        for node in ([0, 1], [2, 3]):
            ranks = [run.ranks[n] for n in node]
            for place, rank in enumerate(ranks):
                rank.start("init_ranks", run.config, run.session, rank.number, 4, place, 2)
            assert all(rank.result().ok for rank in ranks)
            iterate(ranks, range(2))
            assert all(answer.ok for answer in run.finalize(ranks))
            run.await_end()
    found = ledgers(tmp_path)
    assert ranks_of(found[f"run-{host}.1.ledger.json"]) == {(0, 1)} and ranks_of(found[f"run-{host}.ledger.json"]) == {(2, 3)}
    expect_own(tmp_path / "run.h5", 2, range(4))


def rows_in(part):
    try:
        with h5py.File(part, "r", locking=False) as file:
            return len(file["iteration"])
    except (OSError, KeyError):  # it is not there yet
        return 0


def await_rows(part, rows):
    wait_until(lambda: rows_in(part) == rows, f"{rows} iterations in {part.name}")
    return part


# ---- a full disk, and what is dropped


def test_the_view_counts_what_a_node_lost_whose_disk_was_full(tmp_path):
    size, lost = 1 << 20, 3
    text = xml(f'<layout name="list" type="double" dimensions="{size // 8}"/><variable name="own" layout="list"/>')
    with NodesRun(tmp_path, text, [[0, 1], [2, 3]]) as run:
        ranks = run.init()
        iterate(ranks, range(2), size)
        part = await_rows(tmp_path / "run.parts" / run.session / "rank000002.h5", 2)
        assert part.stat().st_size > 10 * ROOM  # the ledger beside it still has room, the one in it has not
        resource.prlimit(run.server_of(1), resource.RLIMIT_FSIZE, (ROOM, resource.RLIM_INFINITY))
        iterate(ranks, range(2, 2 + lost), size)
        answers = run.finalize()
    assert [answer.status for answer in answers] == ["LEAT_OK"] * 2 + ["LEAT_ERROR_LOST"] * 2
    by_first = {min(ranks_of(each)): each["lost"] for each in ledgers(tmp_path).values()}
    assert by_first == {(0, 1): 0, (2, 3): 2 * lost}
    view = tmp_path / "run.h5"
    with h5py.File(view) as file:
        assert file.attrs["lost"] == 2 * lost
        assert file["leat/iteration_complete"][:].tolist() == [1, 1] + [0] * lost
    view.unlink()
    made(run, tmp_path)
    with h5py.File(view) as file:
        assert file.attrs["lost"] == 2 * lost and "leat_not_closed" not in file.attrs


def made(run, folder):
    """`leat view` of its parts: what it printed."""
    done = subprocess.run([BUILD / "bin" / "leat", "view", folder / "run.parts"], cwd=folder, env=run.environment, capture_output=True,
                          text=True, check=True)
    return done.stdout + done.stderr


def test_a_view_names_the_node_that_could_not_say_what_it_lost(tmp_path):
    with NodesRun(tmp_path, xml(LIST), [[0, 1], [2, 3]]) as run:
        ranks = run.init()
        iterate(ranks, range(2))
        await_rows(tmp_path / "run.parts" / run.session / "rank000002.h5", 2)
        pid = run.server_of(1)
        os.kill(pid, signal.SIGSTOP)
        for rank in ranks[2:]:
            rank.kill()
        os.kill(pid, signal.SIGKILL)
        await_death(pid)
        assert all(answer.ok for answer in run.finalize(ranks[:2]))
        run.await_end()
        with h5py.File(tmp_path / "run.h5") as file:
            assert "lost" not in file.attrs and file.attrs["leat_not_closed"] == b"rank000002"
            subprocess.run([BUILD / "bin" / "leat", "recover"], env=run.on(1).environment, cwd=tmp_path, check=True, capture_output=True)
        subprocess.run([BUILD / "bin" / "leat", "clean"], env=run.on(1).environment, cwd=tmp_path, check=True, capture_output=True)
    with h5py.File(tmp_path / "run.h5") as file:
        assert file.attrs["lost"] == 0 and "leat_not_closed" not in file.attrs


def test_a_dropped_iteration_is_of_the_ranks_of_the_node_that_dropped_it(tmp_path):
    size = 1 << 20
    text = xml(f'<layout name="list" type="double" dimensions="{size // 8}"/><variable name="own" layout="list"/>', buffer="4MiB",
               timeout="2s").replace("<buffer", '<buffer when-full="drop-iteration"')
    with NodesRun(tmp_path, text, [[0, 2], [1, 3]]) as run:
        ranks = run.init()
        pid = run.server_of(1)
        os.kill(pid, signal.SIGSTOP)
        said = []
        for number in range(8):
            for rank in (ranks[1], ranks[3]):
                said.append(rank.call("write", "own", 0, size, number).status)
                rank.must("end_iteration")
        os.kill(pid, signal.SIGCONT)
        run.finalize()
    assert "LEAT_DROPPED" in said
    dropped = [entry for each in ledgers(tmp_path).values() for entry in each["entries"] if entry["fate"] == "dropped"]
    assert dropped
    for entry in dropped:
        assert {tuple(ranks) for ranks in entry["ranks"]} <= {(1, 1), (3, 3)}, entry


# ---- XML that differs from node to node


@pytest.mark.parametrize("types", [("int", "double"), ("double", "int"), ("int", "float")])
@pytest.mark.parametrize("where", ["blocks", "global"])
def test_a_variable_of_another_type_on_one_node_is_left_out_of_the_view_and_said(tmp_path, types, where):
    size = {"int": 4, "double": 8, "float": 4}
    shape = 'dimensions="3"' + (' global="12"' if where == "global" else "")
    text = xml(f'<layout name="list" type="TYPE" {shape}/><variable name="own" layout="list"/>'
               '<layout name="one" type="int" dimensions="2"/><variable name="same" layout="one"/>')
    with NodesRun(tmp_path, text.replace("TYPE", types[0]), [[0, 1], [2, 3]]) as run:
        (tmp_path / "other.xml").write_text(text.replace("TYPE", types[1]))
        for rank in run.ranks:
            config = run.config if rank.number < 2 else "other.xml"
            rank.start("init_ranks", config, run.session, rank.number, 4, rank.number % 2, 2)
        assert all(rank.result().ok for rank in run.ranks)
        for number in range(3):
            for rank in run.ranks:
                if where == "global":
                    rank.must("set_position", "own", 0, str(3 * rank.number))
                rank.must("write", "own", 0, 3 * size[types[rank.number // 2]], 100 * number + rank.number)
                rank.must("write", "same", 0, 8, 500 + 100 * number + rank.number)
            for rank in run.ranks:
                rank.end()
        answers = run.finalize()
        log = run.log()
    words = {"int": "32-bit integers", "double": "64-bit floating-point numbers", "float": "32-bit floating-point numbers"}
    said = f'"own" of rank000002.h5: {words[types[1]]} there, {words[types[0]]} in rank000000.h5'
    assert "LEAT_ERROR_LOST" in [answer.status for answer in answers] and f"run.h5 does not show {said}" in log
    assert any(said in json.dumps(each["stores"]).replace('\\"', '"') and each["status"] == "LEAT_ERROR_LOST"
               for each in ledgers(tmp_path).values())
    dtype = {"int": "i4", "double": "f8", "float": "f4"}[types[0]]
    with h5py.File(tmp_path / "run.h5") as file:
        assert said in file.attrs["leat_left_out"].decode() and said in file["own"].attrs["leat_left_out"].decode()
        fill = file["own"].fillvalue
        for row in range(3):
            for rank in range(4):
                same = stored_ranks(file, "same", row)[rank].ravel()
                assert same_bits(same, data(2, "i4", 500 + 100 * row + rank))
            got = ({rank: file["own"][row, 3 * rank:3 * rank + 3] for rank in range(4)} if where == "global"
                   else {rank: each.ravel() for rank, each in stored_ranks(file, "own", row).items()})
            for rank in (0, 1):
                assert same_bits(got[rank], data(3, dtype, 100 * row + rank))
            for rank in (2, 3):
                assert rank not in got or same_bits(got[rank], np.full(3, fill, dtype))
    assert said in made(run, tmp_path)

# SPDX-License-Identifier: Apache-2.0
"""The ledger: its JSON, the copy in the output file, the table and the status agree with each other and with the data."""
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import h5py
from leat_run import BUILD, Run, data, same_bits, xml
from stored_blocks import stored_blocks
from test_stale_resources import kill_all, run_in

ROW = '<layout name="row" type="int" dimensions="5"/><variable name="a" layout="row"/><variable name="b" layout="row"/>'
WIDTH = 100


def ledger(folder, name="run.ledger.json"):
    return json.loads((folder / name).read_text())


def said(entries, fate, **wanted):
    """The set of (variable, rank, iteration) that the entries of this fate speak of."""
    cells = set()
    for entry in entries:
        if entry["fate"] != fate or any(entry.get(key) != value for key, value in wanted.items()):
            continue
        first, last, step = entry["iterations"]
        cells |= {(entry["variable"], rank, iteration) for iteration in range(first, last + 1, step)
                  for low, high in entry["ranks"] for rank in range(low, high + 1)}
    return cells


def in_file(file, variables):
    """The same set as h5py finds it."""
    cells = set()
    for row, iteration in enumerate(file["iteration"][:].tolist()):
        for variable in variables:
            if variable in file:
                cells |= {(variable, rank, iteration) for rank, _ in stored_blocks(file, variable, row)}
    return cells


def table(text):
    """The lines of the table in what was printed, heads left out."""
    lines = text.split("\n")
    start = next(i for i, line in enumerate(lines) if line.startswith("  store  "))
    end = next((i for i in range(start + 1, len(lines)) if not lines[i].startswith("  ")), len(lines))
    for line in lines[start:end]:
        assert len(line) <= WIDTH or len(line.split()) == 1, line  # a path is not broken
    return lines[start + 1:end]


def finished(run, lost, in_files=("run.h5",)):
    """What must hold of each run; returns the ledger."""
    run.await_end()
    whole = ledger(run.folder)
    assert whole["state"] == ("died" if whole["died"] else "finished") and whole["in_progress"] == 0
    assert whole["lost"] == lost and whole["status"] == ("LEAT_ERROR_LOST" if lost or whole["died"] else "LEAT_OK")
    assert lost == sum(e["blocks"] for e in whole["entries"] if e["fate"] in ("failed", "not written"))
    for name in in_files:
        with h5py.File(run.folder / name) as file:
            kept = json.loads(file["leat/ledger"][()].tobytes())
            assert file.attrs["lost"] == kept["lost"] == lost
            assert kept["state"] == "closing" and kept["entries"] == whole["entries"]
    return whole


def test_when_all_is_well_the_ledger_has_all_and_nobody_prints_anything(tmp_path):
    with Run(tmp_path, xml(ROW, log='<log level="warning"/>'), ranks=3) as run:
        for rank in run.init():
            for iteration in range(4):
                assert rank.write("a", 20, rank.number).ok
                if iteration % 2 == 0:
                    assert rank.write("b", 20, rank.number).ok
                rank.end()
        run.finish()
        whole = finished(run, 0)
        assert "leat: " not in run.log() and "  store  " not in run.log()
    assert len(whole["entries"]) == 4, "one entry for each variable and fate"
    with h5py.File(tmp_path / "run.h5") as file:
        stored = in_file(file, "ab")
    assert stored == said(whole["entries"], "stored", store="out") == said(whole["entries"], "written")
    assert sum(e["bytes"] for e in whole["entries"] if e["fate"] == "written") == 20 * len(stored)


def test_a_killed_rank_is_in_the_ledger_and_is_no_loss(tmp_path):
    with Run(tmp_path, xml(ROW), ranks=3) as run:
        ranks = run.init()
        for iteration in range(4):
            for rank in ranks:
                if rank.number == 1 and iteration == 2:
                    rank.write("a", 20, 7)
                    rank.kill()
                elif rank.process.poll() is None:
                    assert rank.write("a", 20, rank.number).ok
                    rank.end()
        assert all(answer.ok for answer in run.finalize([ranks[0], ranks[2]]))
        whole = finished(run, 0)
        assert "rank 1 died in iteration 2; the data it had written is stored" in run.log()
    assert whole["died"] == [{"rank": 1, "iteration": 2}]
    with h5py.File(tmp_path / "run.h5") as file:
        assert in_file(file, "a") == said(whole["entries"], "stored")
    assert ("a", 1, 2) in said(whole["entries"], "stored") and ("a", 1, 3) not in said(whole["entries"], "written")


def test_a_store_that_fails_has_its_line_and_the_other_has_its_data(tmp_path):
    store = '<store name="bad" type="trace"><option name="file" value="nowhere/t.txt"/></store><store name="good" type="hdf5" every="2"/>'
    with Run(tmp_path, xml(ROW, store=store), ranks=2) as run:
        for rank in run.init():
            for _ in range(5):
                assert rank.write("a", 20, rank.number).ok
                rank.end()
        answers = run.finalize()
        whole = finished(run, 10)
        (*lines,) = table(answers[0].error)
        assert lines[0].split()[:6] == ["bad", "a", "0-1", "0-4", "200", "B"] and "nowhere" in " ".join(lines)
        for answer in answers:
            assert answer.status == "LEAT_ERROR_LOST" and "run.ledger.json" in answer.error
            assert "good" not in answer.error
        # One rank speaks for the node, the server's log says the same.
        assert run.log().count("  store  ") == 2
        assert "leat: rank 0: leat_finalize: not all" in run.log() and "leat: rank 1: " not in run.log()
    with h5py.File(tmp_path / "run.h5") as file:
        stored = in_file(file, "a")
    assert stored == said(whole["entries"], "stored") == {("a", r, i) for r in range(2) for i in (0, 2, 4)}
    assert said(whole["entries"], "failed", store="bad") == {("a", r, i) for r in range(2) for i in range(5)}
    assert "nowhere" in whole["stores"][0]["failed"] and "failed" not in whole["stores"][1]


def test_what_a_full_segment_refuses_is_in_the_ledger_with_its_bytes(tmp_path):
    big = '<layout name="big" type="uint8" dimensions="3*1048576"/><variable name="big" layout="big"/>'
    with Run(tmp_path, xml(big, buffer="4MiB", timeout="50s")) as run:
        (rank,) = run.init()
        for iteration in range(3):
            assert rank.write("big", 3 << 20, iteration).ok
            assert rank.write("big", 3 << 20, 9, block=1).status == "LEAT_ERROR_FULL"
            rank.end()
        (end,) = run.finalize()
        whole = finished(run, 3)
        assert end.status == "LEAT_ERROR_LOST" and "3 writes of this rank failed" in end.error
        line = table(end.error)[0]
        assert re.match(r"  - +big +0 +0-2 +9 MiB  no room for 3 MiB of it: the segment of 4 MiB is too", line), line
    (lost,) = [e for e in whole["entries"] if e["fate"] == "not written"]
    assert lost["bytes"] == 9 << 20 and said([lost], "not written") == {("big", 0, i) for i in range(3)}
    with h5py.File(tmp_path / "run.h5") as file:
        assert in_file(file, ["big"]) == said(whole["entries"], "stored")
        assert same_bits(file["big"][2].reshape(-1), data(3 << 20, "u1", 2))


def test_a_write_of_an_unknown_name_is_lost_and_said_to_be(tmp_path):
    with Run(tmp_path, xml(ROW)) as run:
        (rank,) = run.init()
        assert rank.write("a", 20, 1).ok
        assert rank.write("aa", 20, 1).status == "LEAT_ERROR_UNKNOWN_NAME"
        rank.end()
        (end,) = run.finalize()
        whole = finished(run, 1)
        assert end.status == "LEAT_ERROR_LOST" and '"aa"' in end.error
        (line, *_) = table(end.error)
        assert "  -      (unknown name)  0      0  " in line and 'declares no variable "aa"' in line
    (lost,) = [e for e in whole["entries"] if e["variable"] is None]
    assert lost["what"] == "unknown name" and lost["fate"] == "not written" and lost["iterations"] == [0, 0, 1]


def test_a_killed_server_leaves_a_recent_ledger_and_the_next_run_writes_its_own(tmp_path):
    with Run(tmp_path, xml(ROW, timeout="2s")) as run:
        (rank,) = run.init()
        for _ in range(30):
            assert rank.write("a", 20, 1).ok
            rank.end()
            time.sleep(0.1)
        time.sleep(3)  # it has said all when it has been quiet for some seconds
        whole = ledger(tmp_path)
        assert whole["state"] == "running"
        assert said(whole["entries"], "stored") == {("a", 0, i) for i in range(30)}
        os.kill(run.server(), signal.SIGKILL)
        run.finalize()
        after = Run(tmp_path, xml(ROW), name="after", environment={"LEAT_RUNTIME_DIR": str(run.runtime)})
        after.runtime = run.runtime
        with after:
            (rank,) = after.init()
            assert rank.write("a", 20, 1).ok
            rank.end()
            after.finish()
            finished(after, 0)
    assert [p.name for p in tmp_path.iterdir() if "ledger" in p.name] == ["run.ledger.json"]


def test_two_runs_of_one_name_in_one_folder_have_a_ledger_each(tmp_path):
    with Run(tmp_path, xml(ROW), name="one") as one, Run(tmp_path, xml(ROW), name="two") as two:
        for run in (one, two):
            (rank,) = run.init()
            assert rank.write("a", 20, 1).ok
            rank.end()
        for run in (one, two):
            run.finish()
            run.await_end()
    sessions = {ledger(tmp_path, p.name)["session"] for p in tmp_path.glob("*.ledger.json")}
    assert sessions == {one.session, two.session}


def test_the_example_of_the_reference_is_one(tmp_path):
    page = pathlib.Path(__file__).parents[2] / "docs/reference/ledger.md"
    example = json.loads(re.search(r"```json\n(.*?)```", page.read_text(), re.S)[1])
    store = '<store name="out" type="hdf5"/><store name="backup" type="trace"><option name="file" value="nowhere/t.txt"/></store>'
    one = '<layout name="row" type="int" dimensions="5"/><variable name="temperature" layout="row"/>'
    with Run(tmp_path, xml(one, store=store, name="heat"), ranks=2) as run:
        for rank in run.init():
            for _ in range(10):
                assert rank.write("temperature", 20, 1).ok
                rank.end()
            if rank.number == 0:
                rank.write("pressure", 20, 1)
        run.finalize()
        run.await_end()
    real = ledger(tmp_path, "heat.ledger.json")
    assert real["placement"].keys() == example["placement"].keys()
    real.update({name: example[name] for name in ("session", "node", "run_id", "run_number", "placement")})
    assert json.loads(json.dumps(real).replace(str(tmp_path), "/home/me")) == example


def test_a_run_that_is_killed_in_its_first_moment_has_a_ledger_and_the_next_run_keeps_it(tmp_path):
    runtime = tmp_path / "runtime"
    run = run_in(tmp_path / "run", xml(ROW), runtime)
    (rank,) = run.init()
    os.kill(rank.process.pid, signal.SIGSTOP)  # it would start another server
    kill_all(run, server_first=True)
    first = ledger(run.folder)
    assert first["state"] == "running" and first["session"] == run.session and first["entries"] == []
    if (run.folder / "run.h5").exists():
        shown = subprocess.run([BUILD / "bin" / "leat", "ls", "run.h5"], cwd=run.folder, env=run.environment,
                               capture_output=True, text=True)
        assert "running, but its server is gone: nothing of it is in memory" in shown.stdout, shown
    with Run(run.folder, xml(ROW), environment={"LEAT_RUNTIME_DIR": str(runtime)}) as following:
        following.runtime = runtime
        (rank,) = following.init()
        assert ledger(run.folder)["session"] == following.session and ledger(run.folder, "run.1.ledger.json") == first
        assert rank.write("a", 20, 1).ok
        rank.end()
        following.finish()
        finished(following, 0)
        assert f"session {run.session}, was killed before its end" in following.log()


def test_half_a_ledger_of_a_killed_writer_goes_with_the_next_run_in_that_folder(tmp_path):
    """SIGKILL between the writing of the new ledger and its renaming, with nothing left in memory to be stored."""
    (tmp_path / ".run.ledger.json.part").write_text('{"leat_ledger": 1, "state": "runn')
    with Run(tmp_path, xml(ROW)) as run:
        (rank,) = run.init()
        rank.must("write", "a", 0, 20, 1)
        rank.end()
        run.finish()
    assert json.loads((tmp_path / "run.ledger.json").read_text())["state"] == "finished"
    assert not (tmp_path / ".run.ledger.json.part").exists()

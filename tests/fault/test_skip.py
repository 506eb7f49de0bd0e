# SPDX-License-Identifier: Apache-2.0
"""A store that may leave iterations out, when-slow="skip", is slow: neither the simulation nor another store waits for it. What
it has left out is said, and stays left out, whoever is killed."""
import json
import os
import signal
import subprocess

import h5py
import pytest
from control_run import Peer, wait_until
from leat_run import BUILD, Run, data, same_bits, xml
from stored_blocks import stored_ranks

ROW = '<layout name="row" type="uint8" dimensions="8"/><variable name="a" layout="row"/>'
OUT = '<store name="out" type="hdf5"/>'
LIBRARY = f"{BUILD}/lib/leat/test"


def gated(attributes=""):
    return f'<store name="slow" library="{LIBRARY}/gate.so" when-slow="skip" {attributes}/>'


def write(run, first, last, size=8):
    for iteration in range(first, last + 1):
        for rank in run.ranks:
            assert rank.write("a", size, iteration).ok
            rank.end()


def begun(folder):
    return sorted(int(p.name.split("-")[1]) for p in folder.glob("begun-*"))


def await_begun(folder, iteration):
    wait_until((folder / f"begun-{iteration}").exists, f"the slow store to begin {iteration}")


def open_gate(folder):
    (folder / "gate-open").touch()


def in_file(folder, count):
    with h5py.File(folder / "run.h5") as file:
        assert file["iteration"][:].tolist() == list(range(count))
        for iteration in range(count):
            assert same_bits(stored_ranks(file, "a", iteration)[0].reshape(-1)[:8], data(8, "u1", iteration))


def ledger(folder):
    return json.loads((folder / "run.ledger.json").read_text())


def entries(folder, fate):
    return [each for each in ledger(folder)["entries"] if each["fate"] == fate]


def numbers(rows):
    return sorted(i for row in rows for i in range(row["iterations"][0], row["iterations"][1] + 1, row["iterations"][2]))


def skipped(folder):
    return numbers(entries(folder, "skipped"))


def metrics(run, store):
    with Peer(run) as peer:
        return next(each for each in peer.ask("metrics")["result"]["stores"] if each["name"] == store)


def test_a_slow_store_leaves_iterations_out_has_the_last_and_holds_up_nobody(tmp_path):
    with Run(tmp_path, xml(ROW, store=gated() + OUT), ranks=2) as run:
        run.init()
        write(run, 0, 0)
        await_begun(tmp_path, 0)
        write(run, 1, 5)
        wait_until(lambda: metrics(run, "out")["calls"] == 6, "the other store, while the slow one is at its first")
        assert metrics(run, "slow")["skipped"] == 4
        open_gate(tmp_path)
        answers = run.finalize()
    assert all(answer.ok for answer in answers), answers
    assert begun(tmp_path) == [0, 5]
    in_file(tmp_path, 6)
    assert skipped(tmp_path) == [1, 2, 3, 4]
    assert all(row["store"] == "slow" and row["what"] == "whole iteration" for row in entries(tmp_path, "skipped"))
    assert numbers(row for row in entries(tmp_path, "stored") if row["store"] == "slow") == [0, 5]
    assert ledger(tmp_path)["stores"] == [{"name": "slow", "skipped": 4}, {"name": "out"}]
    assert 'store "slow" skipped 4 iterations' in run.log() and "6 stored" in run.log(), run.log()
    shown = subprocess.run([BUILD / "bin/leat", "ls", "run.h5"], cwd=tmp_path, capture_output=True, text=True)
    assert "store slow left 4 iterations out" in shown.stdout, shown.stdout


def test_of_each_third_iteration_only_those_can_be_left_out(tmp_path):
    with Run(tmp_path, xml(ROW, store=gated('every="3"') + OUT)) as run:
        run.init()
        write(run, 0, 0)
        await_begun(tmp_path, 0)
        write(run, 1, 7)
        wait_until(lambda: metrics(run, "out")["calls"] == 8, "the other store")
        open_gate(tmp_path)
        run.finish()
    assert sorted(begun(tmp_path) + skipped(tmp_path)) == [0, 3, 6] and 3 in skipped(tmp_path)
    in_file(tmp_path, 8)


def kill(run):
    for pid in run.servers():
        os.kill(pid, signal.SIGKILL)


def test_what_was_left_out_is_given_by_no_other_server(tmp_path):
    with Run(tmp_path, xml(ROW, store=gated() + OUT)) as run:
        run.init()
        write(run, 0, 0)
        await_begun(tmp_path, 0)
        write(run, 1, 3)
        wait_until(lambda: skipped(tmp_path) == [1, 2], "the ledger")
        kill(run)
        write(run, 4, 5)
        for rank in run.ranks:
            rank.start("finalize")
        await_begun(tmp_path, 3)
        open_gate(tmp_path)
        answers = [rank.result() for rank in run.ranks]
    assert begun(tmp_path)[:2] == [0, 3] and begun(tmp_path)[-1] == 5, run.log()
    assert skipped(tmp_path) == sorted(set(range(6)) - set(begun(tmp_path))), run.log()
    (row,) = entries(tmp_path, "failed")
    assert row["store"] == "slow" and row["iterations"][0] == 0 and "the server died" in row["why"]
    assert "slow" in str(answers), "what it was at when the server died is lost, and the run is told"
    in_file(tmp_path, 6)


@pytest.mark.parametrize("seed", range(3))
def test_servers_killed_again_and_again_leave_each_iteration_one_fate(tmp_path, seed):
    with Run(tmp_path, xml(ROW, store=gated() + OUT)) as run:
        run.init()
        for iteration in range(30):
            write(run, iteration, iteration)
            (tmp_path / f"gate-{iteration - iteration % 4}").touch()
            if (iteration + seed) % 7 == 3:
                kill(run)
        open_gate(tmp_path)
        run.finalize()
    in_file(tmp_path, 30)
    left, lost = skipped(tmp_path), numbers(r for r in entries(tmp_path, "failed") if r["store"] == "slow")
    assert len(left) == len(set(left)) and not set(left) & set(lost)
    assert not set(left) & set(begun(tmp_path)), (left, begun(tmp_path), run.log())
    assert set(left) | set(begun(tmp_path)) == set(range(30)), (left, begun(tmp_path), run.log())


def test_a_server_that_was_stopped_goes_on_where_it_was(tmp_path):
    with Run(tmp_path, xml(ROW, store=gated() + OUT)) as run:
        run.init()
        write(run, 0, 0)
        await_begun(tmp_path, 0)
        os.kill(run.server(), signal.SIGSTOP)
        write(run, 1, 3)
        open_gate(tmp_path)
        os.kill(run.server(), signal.SIGCONT)
        run.finish()
    seen = begun(tmp_path)
    assert seen[0] == 0 and seen[-1] == 3 and skipped(tmp_path) == sorted(set(range(4)) - set(seen))
    in_file(tmp_path, 4)


@pytest.mark.parametrize("policy", ["wait", "spill"])
def test_ranks_that_wait_for_memory_wait_for_no_store_that_may_skip(tmp_path, policy):
    """One iteration that it has aside fits into the buffer, one that goes on beside it, and no third one."""
    size = 1 << 20
    big = f'<layout name="row" type="uint8" dimensions="{size}"/><variable name="a" layout="row"/>'
    (tmp_path / "disk").mkdir()
    full = f'when-full="{policy}"' + (f' spill="{tmp_path}/disk"' if policy == "spill" else "")
    text = xml(big, buffer="3MiB", timeout="20s", store=gated() + OUT).replace("<buffer ", f"<buffer {full} ")
    with Run(tmp_path, text) as run:
        run.init()
        write(run, 0, 0, size)
        await_begun(tmp_path, 0)
        write(run, 1, 8, size)
        wait_until(lambda: metrics(run, "out")["calls"] == 9, "the other store")
        assert begun(tmp_path) == [0]
        open_gate(tmp_path)
        run.finish()
    assert begun(tmp_path) == [0, 8] and skipped(tmp_path) == list(range(1, 8)), run.log()
    in_file(tmp_path, 9)


def test_what_it_would_have_published_keeps_nobody_waiting(tmp_path):
    """The publisher is at iteration 0 until there is a file; the subscriber has what it makes of 0 and of the last."""
    options = "".join(f'<option name="{n}" value="{v}"/>' for n, v in {"publish": "sum", "meet": "at-0 go-on"}.items())
    (tmp_path / "second.so").write_bytes(open(f"{LIBRARY}/publishing.so", "rb").read())
    (tmp_path / "second.so").chmod(0o755)
    stores = (f'<store name="pub" library="{LIBRARY}/publishing.so" when-slow="skip">{options}</store>'
              f'<store name="sub" library="{tmp_path}/second.so"><option name="file" value="got.txt"/></store>')
    with Run(tmp_path, xml(ROW, store=stores + OUT)) as run:
        run.init()
        write(run, 0, 0)
        wait_until((tmp_path / "at-0").exists, "the publisher")
        write(run, 1, 3)
        wait_until(lambda: metrics(run, "out")["calls"] == 4, "the other store")
        (tmp_path / "go-on").touch()
        run.finish()
    got = [line.split()[:3] for line in (tmp_path / "got.txt").read_text().splitlines()]
    assert sorted(got) == [["pub", "0", "sum"], ["pub", "3", "sum"]], run.log()
    with h5py.File(tmp_path / "run.h5") as file:
        assert sorted(file["products/pub/iteration"][:].tolist()) == [0, 3]
    assert skipped(tmp_path) == [1, 2]


def check(folder, store):
    (folder / "run.xml").write_text(xml(ROW, store=store))
    done = subprocess.run([BUILD / "bin/leat", "check", "run.xml"], cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_leat_check_says_which_stores_may_leave_iterations_out(tmp_path):
    code, said = check(tmp_path, gated('every="2"') + OUT)
    assert code == 0 and "every 2 iterations, but while it is busy" in said, said
    code, said = check(tmp_path, OUT.replace("/>", ' when-slow="skip"/>'))
    assert code == 0 and "may leave iterations out of its file" in said, said
    both = f'<store name="other" library="{LIBRARY}/gate.so"/>'
    code, said = check(tmp_path, gated() + both)
    assert code == 1 and "stores of one plugin take turns" in " ".join(said.split()), said

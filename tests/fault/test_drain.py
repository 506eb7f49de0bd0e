# SPDX-License-Identifier: Apache-2.0
"""Everything of a session is killed: what its ranks had handed over lies in its segment, and the next start on the node, or
`leat recover`, stores it. All that a call had returned LEAT_OK for is in the file, bit for bit, and nothing twice."""
import contextlib
import fcntl
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import time

import h5py
import numpy as np
import pytest
from leat_run import BUILD, LIMIT, Run, data, same_bits, xml
from stored_blocks import stored_ranks
from test_stale_resources import kill_all, leat_clean, run_in

VARIABLES = {"a": ("i4", 5), "b": ("u1", 7000)}
DATA = ('<layout name="row" type="int" dimensions="5"/><variable name="a" layout="row"/>'
        '<layout name="big" type="uint8" dimensions="7000"/><variable name="b" layout="big"/>'
        '<parameter name="step" type="int"/>')


def leat(run, *words):
    return subprocess.run([BUILD / "bin" / "leat", *words], capture_output=True, text=True, timeout=120, env=run.environment,
                          cwd=run.folder)


def seed(variable, rank, iteration):
    return 1 + 1000 * iteration + 10 * rank + (variable == "b")


class Due:
    """What calls have returned LEAT_OK for."""

    def __init__(self):
        self.blocks = set()

    def write(self, rank, iteration, variables=VARIABLES):
        for name in variables:
            dtype, count = VARIABLES[name]
            answer = rank.write(name, count * np.dtype(dtype).itemsize, seed(name, rank.number, iteration))
            if answer.ok:
                self.blocks.add((name, rank.number, iteration))

    def iterations(self, ranks, numbers):
        for number in numbers:
            for rank in ranks:
                rank.must("set_int", "step", number)
                self.write(rank, number)
                rank.end()

    def check(self, path):
        with h5py.File(path) as file:
            numbers = file["iteration"][:].tolist()
            assert numbers == sorted(set(numbers)), numbers
            for name, rank, iteration in sorted(self.blocks):
                assert iteration in numbers, (name, rank, iteration, numbers)
                row = numbers.index(iteration)
                stored = stored_ranks(file, name, row)
                assert rank in stored, (name, rank, iteration)
                dtype, count = VARIABLES[name]
                assert same_bits(stored[rank], data(count, dtype, seed(name, rank, iteration)))


def killed(folder, runtime, due, stored=2, waiting=4, **more):
    """A run of two ranks, the server of which was stopped before all of it was killed."""
    run = run_in(folder, more.pop("xml", None) or xml(DATA, buffer="8MiB"), runtime, ranks=2, **more)
    ranks = run.init()
    due.iterations(ranks, range(stored))
    until = time.monotonic() + LIMIT
    while not ledger(folder)["entries"]:  # a server that has begun to store
        assert time.monotonic() < until
        time.sleep(0.01)
    os.kill(run.server(), signal.SIGSTOP)
    due.iterations(ranks, range(stored, stored + waiting))
    due.write(ranks[1], stored + waiting)  # an iteration that nobody has ended
    kill_all(run, server_first=True)
    return run


def await_gone(run):
    until = time.monotonic() + LIMIT
    while run.segments():
        assert time.monotonic() < until, "nobody has stored it"
        time.sleep(0.01)


def nothing_left(run):
    await_gone(run)
    until = time.monotonic() + LIMIT  # what belongs to a segment goes after it
    while left := [p for p in run.runtime.iterdir() if run.session in p.name]:
        assert time.monotonic() < until, left
        time.sleep(0.01)


def ledger(folder, name="run.ledger.json"):
    return json.loads((folder / name).read_text())


def recovered(run, how, tmp_path):
    if how == "another session":
        with run_in(tmp_path / "another", xml(DATA), run.runtime, ranks=1) as following:
            following.init()
            await_gone(run)
            following.finish()
            following.await_end()
            nothing_left(run)
        return
    words = {"leat recover": ["recover"], "leat recover SESSION": ["recover", run.session], "leat clean": ["clean"],
             "leat recover FILE": ["recover", "run.h5"], "leat recover FOLDER": ["recover", "."]}[how]
    until = time.monotonic() + LIMIT  # what was killed holds its locks for a moment yet
    while "stored now" not in (done := leat(run, *words)).stdout and time.monotonic() < until:
        time.sleep(0.05)
    assert done.returncode == 0, done
    assert run.session in done.stdout and "stored now" in done.stdout


def test_the_log_says_what_has_become_of_a_killed_session_and_of_which(tmp_path):
    run = killed(tmp_path / "run", tmp_path / "runtime", Due())
    with run_in(tmp_path / "another", xml(DATA), run.runtime, ranks=1) as following:
        following.init()
        await_gone(run)
        following.finish()
        following.await_end()
        log = following.log()
    assert f"session {run.session} was killed with 5 iterations of {run.folder} in memory: process " in log, log
    assert f"session {run.session}, which was killed: what it had in memory is stored" in log, log


def test_the_log_says_that_a_killed_session_could_not_be_stored(tmp_path):
    """Its folder is gone; what is only begun is not called done."""
    run = killed(tmp_path / "run", tmp_path / "runtime", Due())
    (tmp_path / "run").rename(tmp_path / "away")
    with run_in(tmp_path / "another", xml(DATA), run.runtime, ranks=1) as following:
        (rank,) = following.init()
        until = time.monotonic() + LIMIT
        while (said := f"session {run.session}, which was killed: what it had in memory is not stored") not in following.log():
            assert time.monotonic() < until, following.log()
            rank.end()
            time.sleep(0.05)
        following.finish()
        following.await_end()
        assert f"`leat recover {run.session}` tries again" in following.log().split(said)[1]
        assert "stored now" not in following.log() and "in memory is stored" not in following.log()
        (tmp_path / "away").rename(tmp_path / "run")
        assert leat(run, "recover", run.session).returncode == 0


@pytest.mark.parametrize("how", ["another session", "leat recover", "leat recover SESSION", "leat recover FILE",
                                 "leat recover FOLDER", "leat clean"])
def test_what_was_in_memory_when_everything_was_killed_is_stored_by(tmp_path, how):
    due = Due()
    run = killed(tmp_path / "run", tmp_path / "runtime", due)
    (shown,) = [s for s in json.loads(leat(run, "ls", "--json").stdout)["sessions"] if s["session"] == run.session]
    assert shown["state"] == "killed" and shown["folder"] == str(run.folder)
    assert {2, 3, 4, 5, 6} <= set(shown["in_memory"]["iterations"])
    assert {v["name"] for v in shown["in_memory"]["variables"]} == {"a", "b"}
    assert "are not stored yet: `leat recover` does it" in leat(run, "ls", run.session).stdout
    recovered(run, how, tmp_path)
    nothing_left(run)
    due.check(run.folder / "run.h5")
    with h5py.File(run.folder / "run.h5") as file:
        assert file["leat/iteration_complete"][:].tolist() == [1] * 6 + [0]
        assert file["parameters/step"][:].tolist()[:6] == list(range(6))
        assert json.loads(file["leat/ledger"][()].tobytes())["drained"]["iterations"] >= 5
    said = ledger(run.folder)
    assert said["state"] == "drained" and said["lost"] == 0
    assert said["drained"]["iterations"] >= 5 and {d["rank"] for d in said["died"]} == {0, 1}


def test_killed_at_random_moments_nothing_that_was_handed_over_is_lost(tmp_path):
    chance = random.Random(14)
    for turn in range(8):
        due, folder = Due(), tmp_path / str(turn)
        run = run_in(folder, xml(DATA, buffer="8MiB"), tmp_path / "runtime", ranks=2)
        ranks = run.init()
        due.iterations(ranks, range(chance.randrange(1, 4)))
        number = max(i for _, _, i in due.blocks) + 1
        if chance.random() < 0.5:
            os.kill(run.server(), chance.choice([signal.SIGSTOP, signal.SIGKILL]))
        for rank in ranks:
            at = number
            for _ in range(chance.randrange(1, 4)):
                due.write(rank, at)
                if chance.random() < 0.1:
                    break
                rank.end()
                at += 1
            rank.start("write", "b", 0, 7000, seed("b", rank.number, at))  # in the midst of which it is killed
        time.sleep(chance.choice([0, 0, 0.02]))
        kill_all(run, server_first=chance.random() < 0.5)
        how = chance.choice(["leat recover", "leat clean", "another session"])
        if ledger(folder)["state"] != "died":  # else it was all stored when the server was killed too, after the ranks
            recovered(run, how, folder)
        nothing_left(run)
        due.check(folder / "run.h5")


def test_a_drainer_that_is_killed_is_followed_by_another_and_nothing_is_there_twice(tmp_path):
    due = Due()
    run = killed(tmp_path / "run", tmp_path / "runtime", due, waiting=12)
    chance = random.Random(4)
    for _ in range(10):
        if not run.segments():
            break
        (segment,) = run.segments()
        with subprocess.Popen([BUILD / "bin" / "leatd", "--drain", segment.name], cwd="/", env=run.environment,
                              stderr=subprocess.DEVNULL) as drainer:
            time.sleep(chance.uniform(0, 0.15))
            drainer.kill()
    assert leat(run, "recover").returncode == 0
    nothing_left(run)
    due.check(run.folder / "run.h5")


def test_many_that_recover_at_once_store_it_once(tmp_path):
    due = Due()
    run = killed(tmp_path / "run", tmp_path / "runtime", due)
    words = [BUILD / "bin" / "leat", "recover", run.session]
    several = [subprocess.Popen(words, cwd=run.folder, env=run.environment, stdout=subprocess.PIPE) for _ in range(4)]
    for one in several:
        one.communicate(timeout=LIMIT)
    nothing_left(run)
    due.check(run.folder / "run.h5")
    assert not list(run.folder.glob("run*.*.h5"))


def test_the_next_run_of_the_same_session_and_folder_drains_into_the_old_file_and_writes_its_own(tmp_path):
    due, later = Due(), Due()
    run = killed(tmp_path / "run", tmp_path / "runtime", due)
    with Run(run.folder, xml(DATA, buffer="8MiB"), ranks=2, environment={"LEAT_RUNTIME_DIR": str(run.runtime)}) as following:
        following.runtime, following.session = run.runtime, run.session
        later.iterations(following.init(), range(3))
        following.finish()
    due.check(run.folder / "run.1.h5")
    later.check(run.folder / "run.h5")
    with h5py.File(run.folder / "run.h5") as file:
        assert file["iteration"][:].tolist() == [0, 1, 2]
    assert ledger(run.folder)["state"] == "finished" and ledger(run.folder, "run.1.ledger.json")["state"] == "drained"


def test_a_run_is_drained_with_the_xml_and_environment_that_it_had_and_without_its_runtime_folder(tmp_path):
    due, folder = Due(), tmp_path / "run"
    text = xml('<include file="${LEAT_TEST_INCLUDE}"/>', buffer="8MiB")
    (tmp_path / "more.xml").write_text(f"<data>{DATA}</data>")
    os.environ["LEAT_TEST_INCLUDE"] = "../more.xml"
    try:
        run = killed(folder, tmp_path / "runtime", due, xml=text)
    finally:
        del os.environ["LEAT_TEST_INCLUDE"]
    (tmp_path / "more.xml").unlink()
    (folder / "run.xml").write_text("<nothing/>")
    shutil.rmtree(run.runtime)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LEAT_")}
    done = subprocess.run([BUILD / "bin" / "leat", "recover", run.session], capture_output=True, text=True, timeout=60, cwd="/",
                          env=environment)
    assert done.returncode == 0, done
    await_gone(run)
    due.check(folder / "run.h5")


def test_what_cannot_be_stored_stays_in_memory_until_it_can_or_is_given_up(tmp_path):
    due, runtime = Due(), tmp_path / "runtime"
    text = xml(DATA, buffer="8MiB", store='<store name="out" type="hdf5" folder="out"/>')
    for end in ("it can", "it is given up"):
        folder = tmp_path / end.replace(" ", "-")
        (tmp_path / "out").mkdir(exist_ok=True)
        run = killed(folder, runtime, due, xml=text.replace('folder="out"', f'folder="{tmp_path}/out"'))
        (tmp_path / "out").rename(tmp_path / "elsewhere")
        done = leat_clean(runtime)
        assert done.returncode == 1 and re.search(r": \d iterations", done.stdout) and "does not exist" in done.stdout, done
        assert run.segments()
        if end == "it can":
            (tmp_path / "elsewhere").rename(tmp_path / "out")
            assert leat(run, "recover", run.session).returncode == 0
            due.check(tmp_path / "out" / "run.h5")
            shutil.rmtree(tmp_path / "out")
            due.blocks.clear()
        else:
            done = leat_clean(runtime, "--discard")
            assert done.returncode == 0 and re.search(r": \d iterations", done.stdout) and "LOST, as you asked" in done.stdout, done
        nothing_left(run)


def test_the_ledger_of_a_run_whose_memory_is_gone_is_kept_and_the_next_run_says_so(tmp_path):
    due = Due()
    run = killed(tmp_path / "run", tmp_path / "runtime", due)
    for segment in run.segments():
        segment.unlink()  # as a restart of the machine does
    shown = leat(run, "ls", "run.h5").stdout
    assert "running, but its server is gone" in shown, shown
    with Run(run.folder, xml(DATA, buffer="8MiB"), environment={"LEAT_RUNTIME_DIR": str(run.runtime)}) as following:
        following.runtime = run.runtime
        following.init()
        following.finish()
        following.await_end()
        assert f"session {run.session}, was killed before its end" in following.log() and "is lost" in following.log()
    old = ledger(run.folder, "run.1.ledger.json")
    assert old["state"] == "running" and old["session"] == run.session


def drainer_of(segment):
    """The leatd that stores it."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
            if b"--drain" in words and segment.name.encode() in words:
                found.append(int(entry.name))
    (pid,) = found
    return pid


def killed_in_a_store(tmp_path, library, options=""):
    """A run that was killed while its second store had the first iteration."""
    store = f'<store name="out" type="hdf5"/><store name="slow" library="{BUILD}/lib/leat/test/{library}.so">{options}</store>'
    run = run_in(tmp_path / "run", xml(DATA, buffer="8MiB", timeout="2s", store=store), tmp_path / "runtime", ranks=2)
    ranks, due = run.init(), Due()
    due.iterations(ranks, range(1))
    for rank in ranks:
        os.kill(rank.process.pid, signal.SIGSTOP)  # it would start another server
    kill_all(run, server_first=True)
    return run, due


@pytest.mark.parametrize("how", ["is stopped, ", ""])
def test_a_drainer_that_is_stopped_or_stuck_is_named_and_not_waited_for(tmp_path, how):
    run, due = killed_in_a_store(tmp_path, "gate")
    (segment,), begun = run.segments(), run.folder / "begun-0"
    begun.unlink(missing_ok=True)
    log = tmp_path / "said"  # no pipe: the drainer has its end, too
    with log.open("w") as file, subprocess.Popen([BUILD / "bin" / "leat", "recover"], cwd=run.folder, env=run.environment,
                                                 stderr=file) as recover:
        until = time.monotonic() + LIMIT
        while not begun.exists():
            assert time.monotonic() < until
            time.sleep(0.01)
        drainer = drainer_of(segment)
        if how:
            os.kill(drainer, signal.SIGSTOP)
        recover.wait(LIMIT)
    said = log.read_text()
    assert recover.returncode == 1 and f"process {drainer} stores it, {how}and has got nothing done" in said, said
    assert run.segments()
    (run.folder / "gate-open").touch()
    os.kill(drainer, signal.SIGCONT)
    await_gone(run)
    assert leat(run, "clean").returncode == 0
    nothing_left(run)
    due.check(run.folder / "run.h5")


def test_another_process_that_has_the_segment_and_is_stuck_is_named_and_not_waited_for(tmp_path):
    run, due = killed_in_a_store(tmp_path, "slow")
    (segment,), begun, go_on = run.segments(), tmp_path / "begun", tmp_path / "go-on"
    (tmp_path / "bin").mkdir()
    shutil.copy(BUILD / "bin" / "leat", tmp_path / "bin")
    (tmp_path / "bin" / "leatd").write_text(f"""#!/bin/sh
touch {begun}; while [ ! -e {go_on} ]; do sleep 0.01; done; exec {BUILD}/bin/leatd "$@"
""")
    (tmp_path / "bin" / "leatd").chmod(0o755)
    with subprocess.Popen([tmp_path / "bin" / "leat", "clean", "--json"], cwd=run.folder, env=run.environment,
                          stdout=subprocess.PIPE, text=True) as clean:
        until = time.monotonic() + LIMIT
        while not begun.exists():
            assert time.monotonic() < until
            time.sleep(0.01)
        with segment.open() as file:  # who begins to store it, faster than the one that leat has started
            fcntl.flock(file, fcntl.LOCK_EX)
            go_on.touch()
            said = json.loads(clean.communicate(timeout=LIMIT)[0])
    (problem,) = [one["problem"] for one in said["undrained"]]
    assert clean.returncode == 1 and not said["good"]
    assert problem.startswith(f"process {os.getpid()} stores it, and has got nothing done for 2 seconds"), problem
    assert leat(run, "recover").returncode == 0
    due.check(run.folder / "run.h5")


def test_a_drainer_that_works_for_longer_than_the_timeout_is_waited_for(tmp_path):
    run, due = killed_in_a_store(tmp_path, "slow", '<option name="seconds" value="5"/><option name="progress" value="yes"/>')
    done = leat(run, "recover")
    assert done.returncode == 0 and "stored now" in done.stdout, done
    due.check(run.folder / "run.h5")

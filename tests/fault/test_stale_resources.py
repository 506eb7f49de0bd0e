# SPDX-License-Identifier: Apache-2.0
"""Nothing is left behind by the dead, nothing is taken from the living, nobody gets in who should not.

Another leatd of this user that starts meanwhile, of another test, removes what these tests leave as well. So no
test relies on something dead to be there still, but in its own runtime folder.
"""
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import h5py
import pytest
from leat_run import BUILD, Run, await_death, data, same_bits, xml

ROW = '<layout name="row" type="int" dimensions="5"/><variable name="a" layout="row"/>'
BIG = '<layout name="big" type="uint8" dimensions="1048576"/><variable name="a" layout="big"/>'
SHM = pathlib.Path("/dev/shm")
NOBODY = 65534
MARK = "LEAT_TEST_RUN"  # in the environment of all processes of a run


def run_in(folder, text, runtime, **more):
    """A run in a folder of its own, with a runtime folder that it shares with others."""
    folder.mkdir()
    run = Run(folder, text, environment={"LEAT_RUNTIME_DIR": str(runtime), MARK: str(folder)}, **more)
    run.runtime = runtime
    return run


def leat_clean(runtime, *options):
    return subprocess.run([BUILD / "bin" / "leat", "clean", *options], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "LEAT_RUNTIME_DIR": str(runtime)})


def cleaned(runtime, *options):
    done = leat_clean(runtime, "--json", *options)
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def sessions(entries):
    return {entry["session"] for entry in entries}


def files_of(run):
    there = list(run.runtime.iterdir()) if run.runtime.exists() else []
    return [p for p in there if p.name.startswith(run.session)]


def kill_all(run, server_first):
    """SIGKILL to every process of a run, until there is none: one that was just being started, and is no leatd yet, too."""
    killed = set()
    order = (kill_servers, kill_ranks) if server_first else (kill_ranks, kill_servers)
    for kill in order:
        killed.update(kill(run) or ())
    none = 0
    while none < 3:  # a process that becomes another program has no environment for a moment
        found = processes_of(run)
        kill_each(found)
        killed.update(found)
        none = 0 if found else none + 1
        time.sleep(0.005)
    for rank in run.ranks:
        rank.stop_process()
    run.await_end()
    for pid in killed:
        await_death(pid)


def processes_of(run):
    mark, found = f"{MARK}={run.folder}".encode(), []
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    return found


def kill_each(pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def kill_servers(run):
    servers = run.servers()
    kill_each(servers)
    return servers


def kill_ranks(run):
    for rank in run.ranks:
        rank.kill()


def killed_run(folder, runtime):
    """A session that had begun, all of which is dead now. Its rank is stopped first: it would start another server, which
    may find that rank dead and end the session before it is killed too."""
    run = run_in(folder, xml(ROW), runtime)
    (rank,) = run.init()
    os.kill(rank.process.pid, signal.SIGSTOP)
    kill_all(run, server_first=True)
    return run


def run_killed_with_data_in_memory(folder, runtime):
    run = run_in(folder, xml(ROW), runtime)
    (rank,) = run.init()
    write_rows(rank, 0, 1)
    os.kill(run.server(), signal.SIGSTOP)
    write_rows(rank, 1, 1)
    os.kill(rank.process.pid, signal.SIGSTOP)
    kill_all(run, server_first=True)
    return run


def killed_at_any_moment(folder, runtime, chance):
    run = run_in(folder, xml(ROW), runtime, ranks=2)
    for rank in run.ranks:
        rank.start("init_ranks", run.config, run.session, rank.number, 2)
    time.sleep(chance.uniform(0, 0.3))
    kill_all(run, server_first=chance.random() < 0.5)
    return run


def write_rows(rank, first, count):
    for iteration in range(first, first + count):
        assert rank.write("a", 20, iteration).ok
        rank.end()


def check_rows(path, count):
    with h5py.File(path) as file:
        assert file["iteration"][:].tolist() == list(range(count))
        for iteration in range(count):
            assert same_bits(file["a"][iteration].reshape(-1), data(5, "i4", iteration))


@pytest.mark.parametrize("by", ["the next start", "leat clean"])
def test_sessions_killed_at_any_moment_leave_nothing_and_a_live_one_beside_loses_nothing(tmp_path, by):
    chance = random.Random(by)
    runtime = tmp_path / "runtime"
    left = 0
    with run_in(tmp_path / "live", xml(ROW), runtime) as live:
        (rank,) = live.init()
        for turn in range(12):
            dead = killed_at_any_moment(tmp_path / f"dead{turn}", runtime, chance)
            left += bool(files_of(dead))
            write_rows(rank, turn, 1)
            if by == "leat clean":
                assert live.session in sessions(cleaned(runtime)["alive"])
            else:
                with run_in(tmp_path / f"next{turn}", xml(ROW), runtime) as following:
                    following.init()
                    assert not files_of(dead) and not dead.segments()
                    following.finish()
                    following.await_end()
                    following.runtime = tmp_path / "not this one"
            assert not files_of(dead) and not dead.segments()
        write_rows(rank, 12, 1)
        live.finish()
    assert left > 0, "no kill came at a moment at which something is left"
    check_rows(tmp_path / "live" / "run.h5", 13)


def test_a_segment_of_which_every_other_trace_is_gone_is_removed_by_the_next_start_anywhere(tmp_path):
    dead = killed_run(tmp_path / "dead", tmp_path / "runtime")
    shutil.rmtree(tmp_path / "runtime")
    with run_in(tmp_path / "next", xml(ROW), tmp_path / "elsewhere") as following:
        following.init()
        assert not dead.segments()
        following.finish()


def test_a_dry_run_names_what_would_go_and_removes_nothing(tmp_path):
    runtime = tmp_path / "runtime"
    dead = run_killed_with_data_in_memory(tmp_path / "dead", runtime)
    before = {p.name for p in files_of(dead)}
    assert before
    report = cleaned(runtime, "--dry-run")
    ours = [e for e in report["dead"] if e["session"] == dead.session]
    needed = {name for name in before if name.endswith(".journal")}  # by whoever stores what is in memory
    assert needed and {pathlib.Path(e["path"]).name for e in ours if e["kind"] != "segment"} == before - needed
    assert not any(e["removed"] for e in ours)
    assert {p.name for p in files_of(dead)} == before
    assert "to be removed" in leat_clean(runtime, "--dry-run").stdout
    screen = leat_clean(runtime).stdout
    assert "that were in memory are stored now" in screen  # and with that all of it goes
    assert not files_of(dead) and not dead.segments()
    assert dead.session not in leat_clean(runtime).stdout


def test_a_live_session_is_shown_with_its_process_its_start_and_its_memory(tmp_path):
    with Run(tmp_path, xml(ROW, buffer="32MiB")) as run:
        run.init()
        (one,) = [e for e in cleaned(run.runtime)["alive"] if e["session"] == run.session]
        assert one["pid"] == run.server()
        assert abs(time.mktime(time.strptime(one["since"][:19], "%Y-%m-%dT%H:%M:%S")) - time.time()) < 60
        (segment,) = run.segments()
        assert one["segment"] == str(segment) and one["bytes"] == segment.stat().st_size >= 32 << 20
        (line,) = [n for n in leat_clean(run.runtime).stdout.splitlines() if run.session in n]
        assert str(run.server()) in line and line.endswith(" MiB")
        run.finish()


def test_a_stopped_session_is_alive(tmp_path):
    with Run(tmp_path, xml(ROW)) as run:
        (rank,) = run.init()
        server = run.server()
        for pid in (server, rank.process.pid):
            os.kill(pid, signal.SIGSTOP)
        report = cleaned(run.runtime)
        assert run.session in sessions(report["alive"]) and run.session not in sessions(report["dead"])
        for pid in (server, rank.process.pid):
            os.kill(pid, signal.SIGCONT)
        write_rows(rank, 0, 3)
        run.finish()
    check_rows(tmp_path / "run.h5", 3)


def made_so_far(run):
    """What a server that starts has made, as soon as it says whose it is. A file that it has made and not locked yet may
    be taken from it: it makes it again."""
    made = [*run.segments(), *files_of(run)]
    return {p for p in made if p.suffix == ".sock" or p.stat().st_size > 0}


@pytest.mark.parametrize("moment", range(8))
def test_a_server_that_is_stopped_while_it_starts_is_not_touched(tmp_path, moment):
    with Run(tmp_path, xml(ROW)) as run:
        (rank,) = run.ranks
        rank.start("init_ranks", run.config, run.session, 0, 1)
        while not run.servers():
            time.sleep(0.001)
        server = run.server()
        time.sleep(0.004 * moment)
        os.kill(server, signal.SIGSTOP)
        before = made_so_far(run)
        for _ in range(3):
            cleaned(run.runtime)
        assert before == made_so_far(run)
        os.kill(server, signal.SIGCONT)
        assert rank.result().ok
        write_rows(rank, 0, 3)
        run.finish()
    check_rows(tmp_path / "run.h5", 3)


def test_sessions_start_and_end_while_others_clean_without_pause(tmp_path):
    runtime = tmp_path / "runtime"
    runtime.mkdir(mode=0o700)
    forever = f'while :; do "{BUILD}/bin/leat" clean >/dev/null || exit 1; done'
    with subprocess.Popen(["/bin/sh", "-c", forever], env={**os.environ, "LEAT_RUNTIME_DIR": str(runtime)}) as cleaner:
        try:
            for turn in range(8):
                with run_in(tmp_path / f"run{turn}", xml(ROW), runtime, ranks=2) as run:
                    run.init()
                    for rank in run.ranks:
                        write_rows(rank, 0, 2)
                    run.finish()
            assert cleaner.poll() is None, "leat clean failed"
        finally:
            cleaner.kill()


def start_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19])


def test_a_segment_that_nobody_has_locked_is_dead_whoever_has_its_process_id_now(tmp_path):
    me = os.getpid()
    space = os.stat("/proc/self/ns/pid").st_ino
    names = {start: SHM / f"leat-{os.geteuid()}-test-again-{me}-{start}-{me}.{start}.{space}"
             for start in (start_of(me), start_of(me) - 1)}
    for path in names.values():
        path.write_bytes(b"data")
        path.chmod(0o600)
    try:
        cleaned(tmp_path / "nothing")
        assert not any(path.exists() for path in names.values())
    finally:
        for path in names.values():
            path.unlink(missing_ok=True)


def test_twenty_sessions_at_once_on_a_node_do_not_meet(tmp_path):
    runtime = tmp_path / "runtime"
    count, iterations = 20, 4
    with contextlib.ExitStack() as stack:
        runs = [stack.enter_context(run_in(tmp_path / f"run{i}", xml(BIG, buffer="4MiB", timeout="60s"), runtime))
                for i in range(count)]
        ranks = [run.ranks[0] for run in runs]
        for rank in ranks:  # as different users of leat_init do: nobody chooses a session's name
            rank.start("init", "run.xml")
        for rank in ranks:
            assert rank.result().ok
        found = [e for e in cleaned(runtime)["alive"] if (runtime / f"{e['session']}.live").exists()]
        assert len(found) == len(sessions(found)) == len({e["segment"] for e in found}) == count
        for iteration in range(iterations):
            for number, rank in enumerate(ranks):
                rank.start("write", "a", 0, 1 << 20, 1000 * number + iteration)
            for rank in ranks:
                assert rank.result().ok
                rank.end()
        for rank in ranks:
            rank.start("finalize")
        for rank in ranks:
            assert rank.result().ok
        wait_until_empty(runtime)
    for number in range(count):
        with h5py.File(tmp_path / f"run{number}" / "run.h5") as file:
            assert file["iteration"][:].tolist() == list(range(iterations))
            for iteration in range(iterations):
                assert same_bits(file["a"][iteration].reshape(-1), data(1 << 20, "u1", 1000 * number + iteration))


def wait_until_empty(folder, limit=60):
    until = time.monotonic() + limit
    while list(folder.iterdir()):
        assert time.monotonic() < until, list(folder.iterdir())
        time.sleep(0.02)


def test_folder_socket_and_segment_are_their_owners_alone_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        run = Run(tmp_path, xml(ROW))
    finally:
        os.umask(before)
    with run:
        run.init()
        assert run.runtime.stat().st_mode & 0o777 == 0o700
        (segment,) = run.segments()
        for path in (*files_of(run), segment):
            assert path.stat().st_mode & 0o777 == 0o600, path
        assert {p.suffix for p in files_of(run)} == {".sock", ".control", ".live", ".journal"}
        run.finish()


def test_no_runtime_folder_is_made_to_be_cleaned(tmp_path):
    cleaned(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_a_runtime_folder_that_others_can_change_is_not_cleaned(tmp_path):
    tmp_path.chmod(0o777)
    done = leat_clean(tmp_path)
    assert done.returncode == 1 and "can be written by others" in done.stderr


def test_a_wrong_option_is_told(tmp_path):
    assert leat_clean(tmp_path, "--dry").returncode == 2


# ---- other users ----

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


@pytest.fixture
def open_folder():
    """A folder that another user can look into, which those of pytest are not."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="leat-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def become_nobody():
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


@needs_root
def test_another_user_is_told_that_the_session_is_not_theirs(open_folder):
    if not (BUILD / "bin" / "leat_rank").exists() or not all(p.stat().st_mode & 1 for p in BUILD.absolute().parents):
        pytest.skip("another user cannot run what was built here")
    with Run(open_folder, xml(ROW)) as run:
        (rank,) = run.init()
        line = f"init_ranks {open_folder}/run.xml {run.session} 0 1\n"
        other = subprocess.run([BUILD / "bin" / "leat_rank"], input=line, capture_output=True, text=True, timeout=60,
                               env=run.environment, cwd="/", preexec_fn=become_nobody)
        answer = json.loads(other.stdout.splitlines()[0])
        assert answer["status"] == "LEAT_ERROR_SYSTEM", answer
        assert "belongs to another user" in answer["error"] and "LEAT_RUNTIME_DIR" in answer["error"]
        cleaner = subprocess.run([BUILD / "bin" / "leat", "clean"], capture_output=True, text=True, timeout=60,
                                 env=run.environment, cwd="/", preexec_fn=become_nobody)
        assert cleaner.returncode == 1 and "belongs to another user" in cleaner.stderr
        write_rows(rank, 0, 2)
        run.finish()
    check_rows(open_folder / "run.h5", 2)


def as_nobody(action):
    """What `action` returns in a process of another user: a word."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        word = "failed"
        try:
            become_nobody()
            word = action()
        except OSError as error:
            word = type(error).__name__
        finally:
            os.write(writer, word.encode())
            os._exit(0)
    os.close(writer)
    os.waitpid(pid, 0)
    with os.fdopen(reader) as answers:
        return answers.read()


def spoken_to(path):
    """How a server takes a client that says something."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
        client.settimeout(20)
        client.connect(str(path))
        try:
            return "answered" if client.recv(1) else "closed"
        except ConnectionResetError:
            return "closed"


@needs_root
def test_another_user_gets_neither_at_the_segment_nor_at_the_socket_nor_through_a_socket_left_open(open_folder):
    with Run(open_folder, xml(ROW)) as run:
        (rank,) = run.init()
        (segment,) = run.segments()
        (sock,) = [p for p in files_of(run) if p.suffix == ".sock"]
        assert as_nobody(lambda: open(segment, "rb").read(1) and "read") == "PermissionError"
        assert as_nobody(lambda: str(list(run.runtime.iterdir()))) == "PermissionError"
        run.runtime.chmod(0o711)
        assert as_nobody(lambda: spoken_to(sock)) == "PermissionError"
        sock.chmod(0o666)
        assert as_nobody(lambda: spoken_to(sock)) == "closed"
        run.runtime.chmod(0o700)
        write_rows(rank, 0, 2)
        run.finish()
    check_rows(open_folder / "run.h5", 2)

# SPDX-License-Identifier: Apache-2.0
"""Nothing that a program does at the control channel slows down or stops the run, and the channel outlives its server."""
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time

import pytest
from control_run import DATA, Peer, connect, ctl, wait_until, write
from leat_run import BUILD, LIMIT, Run, await_death, xml

STREAM = 3000  # iterations whose events fill any buffer of the system


def goes_on(run, ranks, numbers):
    """The run is as it ever was, and so is its channel for others."""
    write(ranks, numbers)
    with Peer(run) as peer:
        assert peer.ask("status")["ok"]


def test_a_reader_that_is_stopped_in_the_midst_of_a_stream_is_told_and_dropped(tmp_path):
    reader_code = ("import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]);"
                   "s.sendall(b'{\"leat_control\": 1, \"request\": \"subscribe\"}\\n');"
                   "[sys.stdout.buffer.write(b) or sys.stdout.flush() for b in iter(lambda: s.recv(65536), b'')]")
    with Run(tmp_path, xml(DATA, buffer="64MiB")) as run:
        (rank,) = run.init()
        out = tmp_path / "reader.out"
        reader = subprocess.Popen([sys.executable, "-c", reader_code, str(run.runtime / f"{run.session}.control")],
                                  stdout=open(out, "wb"))
        wait_until(lambda: out.stat().st_size, "the reader")
        reader.send_signal(signal.SIGSTOP)
        numbers = iter(range(1_000_000))
        until = time.monotonic() + LIMIT
        while sockets(run) > 0:
            rank.must_all([words for _ in range(STREAM) for words in (("write", "u", 0, 256, next(numbers)), ("end_iteration",))])
            assert time.monotonic() < until, "the reader is not dropped"
        goes_on(run, [rank], [next(numbers)])
        reader.send_signal(signal.SIGCONT)
        reader.wait(LIMIT)
        last = json.loads(out.read_bytes().splitlines()[-1])
        assert last["event"] == "overrun" and "too slow" in last["error"]
        run.finish()
    assert "nothing lost" in run.log()


def sockets(run):
    """Connections that the server has at its control socket."""
    with open("/proc/net/unix") as file:
        return sum(f"{run.session}.control" in line and line.split()[5] == "03" for line in file)


def test_bytes_that_are_no_request_are_answered_or_dropped(tmp_path):
    dice = random.Random(7)
    with Run(tmp_path, xml(DATA)) as run:
        (rank,) = run.init()
        for number in range(50):
            with Peer(run) as peer:
                try:
                    peer.send(dice.randbytes(dice.randrange(1, 100_000)))
                    peer.socket.shutdown(socket.SHUT_WR)
                except OSError:
                    continue
                assert all(not message["ok"] for message in peer.all())
            write([rank], [number])
        goes_on(run, [rank], [50])
        run.finish()


def test_half_a_request_holds_up_nobody_and_is_given_up(tmp_path):
    with Run(tmp_path, xml(DATA)) as run:
        (rank,) = run.init()
        with Peer(run) as silent:
            silent.send(b'{"leat_control": 1, "req')
            goes_on(run, [rank], range(20))
            told = silent.all()  # after 10 s
            assert len(told) == 1 and "half a request" in told[0]["error"]
        goes_on(run, [rank], range(20, 25))
        run.finish()


def test_64_mib_of_input_are_not_taken(tmp_path):
    with Run(tmp_path, xml(DATA)) as run:
        (rank,) = run.init()
        with Peer(run) as peer:
            with pytest.raises(OSError):
                peer.send(b"x" * (64 << 20))
            told = peer.all()
            assert "at most 65536 bytes" in told[0]["error"]
        goes_on(run, [rank], range(5))
        run.finish()


def test_a_million_requests_at_once_leave_the_run_its_time(tmp_path):
    with Run(tmp_path, xml(DATA)) as run:
        (rank,) = run.init()
        code = ("import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n"
                "while True: s.sendall(b'{\"leat_control\": 1, \"request\": \"status\"}\\n' * 1000)")
        flood = subprocess.Popen([sys.executable, "-c", code, str(run.runtime / f"{run.session}.control")])
        try:
            wait_until(lambda: sockets(run), "the flood")
            goes_on(run, [rank], range(200))
            assert flood.poll() is None  # nobody reads its replies: it waits
            memory = int(next(line.split()[1] for line in open(f"/proc/{run.server()}/status") if line.startswith("VmRSS")))
        finally:
            flood.kill()
            flood.wait()
        assert memory < 200 << 10, f"{memory} KiB"
        run.finish()


def test_thousands_that_connect_leave_room_for_one_that_asks(tmp_path):
    with Run(tmp_path, xml(DATA)) as run:
        (rank,) = run.init()
        crowd = []
        for number in range(3000):
            peer = socket.socket(socket.AF_UNIX)
            peer.connect(str(run.runtime / f"{run.session}.control"))
            crowd.append(peer)
            if number % 500 == 0:
                goes_on(run, [rank], [number // 500])
            if len(crowd) > 500:
                crowd.pop(0).close()
        descriptors = len(os.listdir(f"/proc/{run.server()}/fd"))
        assert descriptors < 32 + 60, descriptors
        goes_on(run, [rank], range(6, 10))
        for peer in crowd:
            peer.close()
        wait_until(lambda: len(os.listdir(f"/proc/{run.server()}/fd")) < 60, "the sockets of the dead are closed")
        goes_on(run, [rank], range(10, 12))
        run.finish()


def test_a_program_that_is_killed_at_any_moment_leaves_nothing(tmp_path):
    with Run(tmp_path, xml(DATA)) as run:
        (rank,) = run.init()
        for number in range(20):
            reader = subprocess.Popen([BUILD / "bin/leat", "ctl", run.session, "subscribe"], stdout=subprocess.DEVNULL,
                                      env=run.environment)
            write([rank], range(5 * number, 5 * number + 5))
            reader.kill()
            reader.wait()
        wait_until(lambda: sockets(run) == 0, "the sockets of the dead are closed")
        goes_on(run, [rank], [100])
        run.finish()


def test_another_server_offers_the_channel_again_and_python_goes_on_with_it(tmp_path):
    with Run(tmp_path, xml(DATA)) as run:
        (rank,) = run.init()
        write([rank], range(3))
        with connect(run) as c:
            first = c.status()["pid"]
            events = c.subscribe("stored")
            numbers = iter(range(3, 1_000_000))
            write([rank], [next(numbers)])
            assert next(e["iteration"] for e in events if e["event"] == "stored") >= 0
            os.kill(first, signal.SIGKILL)
            await_death(first)
            assert ctl(run, "status", code=3)
            until = time.monotonic() + LIMIT
            while not run.servers():
                write([rank], [next(numbers)])
                assert time.monotonic() < until
            assert c.status()["pid"] != first and c.status()["takeovers"] == 1
            assert "reconnected" in (e["event"] for e in iter(lambda: next(events), None))
            write([rank], [next(numbers)])
            assert next(e["event"] for e in events) == "stored"
        run.finish()
    assert "nothing lost" in run.log()


def test_a_server_that_is_stopped_is_said_not_to_answer(tmp_path):
    with Run(tmp_path, xml(DATA)) as run:
        (rank,) = run.init()
        write([rank], range(3))
        wait_until(lambda: json.loads(ctl(run, "status", "--json"))["result"]["iteration_done"] == 2, "three iterations")
        server = run.server()
        os.kill(server, signal.SIGSTOP)
        try:
            assert "does not answer in time" in ctl(run, "status", "--timeout", "0.2", code=4)
            seen = subprocess.run([BUILD / "bin/leat", "ls", run.session, "--json"], capture_output=True, text=True, cwd=tmp_path,
                                  env=run.environment, timeout=LIMIT)
            facts = json.loads(seen.stdout)
            assert (facts["state"], facts["pid"], facts["iteration_done"]) == ("not answering", server, 2)
            assert "does not answer" in facts["problem"] and facts["simulation"] == "run"
            assert [v["name"] for v in facts["variables"]] == ["u"] and facts["ranks"]["all"] == 1
        finally:
            os.kill(server, signal.SIGCONT)
        goes_on(run, [rank], range(3, 5))
        run.finish()


def test_what_a_killed_session_leaves_of_its_channel_is_cleaned(tmp_path):
    with Run(tmp_path, xml(DATA)) as run:
        run.init()
        run.kill_all()
        assert f"{run.session}.control" in os.listdir(run.runtime)
        subprocess.run([BUILD / "bin/leat", "clean"], check=True, env=run.environment, stdout=subprocess.DEVNULL)
        assert os.listdir(run.runtime) == []


def test_a_run_whose_path_is_too_long_for_the_channel_goes_on_without(tmp_path):
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        runtime = pathlib.Path(short) / ("x" * (82 - len(short)))  # with 17 of a session: 106 for .sock, 109 for .control
        with Run(tmp_path, xml(DATA), environment={"LEAT_RUNTIME_DIR": str(runtime)}) as run:
            (rank,) = run.init()
            write([rank], range(3))
            assert "there is no control channel: the path" in run.log()
            run.finish()
        assert "nothing lost" in run.log() and os.listdir(runtime) == []

# SPDX-License-Identifier: Apache-2.0
"""The page of `leat dash`, in a browser: what a run does, its scalars, pictures and fields, live, also when its server is followed by
another one."""
import contextlib
import json
import os
import signal
import socket
import stat
import struct
import subprocess
import sys

import numpy as np
from browser import Browser
from dash_run import SCRIPT, Dash, config, field_of, write
from leat_run import BUILD, LIMIT, Run, await_death

TEXT = "document.body.innerText"


def started(folder, **others):
    (folder / "means.py").write_text(SCRIPT)
    return Run(folder, config(**others), 2)


def slice_of(dash, session, **words):
    """(facts, values) of /field."""
    more = "".join(f"&{name}={value}" for name, value in words.items())
    status, _, body = dash.get(f"/field?run={session}&variable=u{more}")
    assert status == 200
    line, _, values = body.partition(b"\n")
    facts = json.loads(line)
    return facts, np.frombuffer(values, "f4").reshape(facts.get("shape", (0, 0)))


def test_a_browser_shows_the_run_while_it_goes_on(tmp_path):
    with started(tmp_path) as run:
        run.init()
        with Dash(run) as dash, Browser() as browser:
            browser.open(dash.address)
            write(run, range(6))
            browser.wait(f"{TEXT}.includes('means/number') && {TEXT}.includes('running') && {TEXT}.includes('2 of 2')")
            browser.wait("[...document.querySelectorAll('.plot b')].some(each => each.textContent === '50')")  # 10 * iteration
            browser.wait("document.querySelectorAll('.film img').length === 2")
            browser.wait("[...document.images].every(each => each.naturalWidth === 4)")
            browser.wait(f"{TEXT}.includes('iteration 5') && document.querySelector('.field canvas').width === 10")
            write(run, range(6, 12))
            browser.wait("[...document.querySelectorAll('.plot b')].some(each => each.textContent === '110')")
            browser.wait("document.querySelectorAll('.film img').length === 3 && document.title.startsWith('run 1')")
            browser.picture(tmp_path / "page.png")
            assert not browser.errors, browser.errors
            hosts = browser.value("performance.getEntriesByType('resource').map(each => new URL(each.name).host)")
            assert set(hosts) == {f"127.0.0.1:{dash.port}"}
            run.finish()
            browser.wait("document.querySelector('.badge').textContent === 'ended'")
    assert (tmp_path / "page.png").stat().st_size > 10000


def type_into(browser, name, text):
    browser.value(f"""(() => {{ const input = document.querySelector('[aria-label="new value of {name}"]');
                     input.value = '{text}'; input.form.requestSubmit(); }})()""")


def test_values_and_events_come_from_the_page_to_the_run(tmp_path):
    with started(tmp_path) as run:
        run.init()
        with Dash(run) as dash, Browser() as browser:
            browser.open(dash.address)
            write(run, range(3))
            browser.wait("""document.querySelector('[aria-label="new value of dt"]') !== null""")
            type_into(browser, "dt", "x")
            browser.wait(f"""{TEXT}.includes('"x" is no finite number')""")
            type_into(browser, "dt", "0.125")
            browser.wait(f"{TEXT}.includes('dt = 0.125: accepted')")
            browser.value("[...document.querySelectorAll('.orders button')].find(each => each.textContent === 'snap').click()")
            browser.wait(f"{TEXT}.includes('snap: accepted')")
            numbers = iter(range(3, 10_000))
            while not browser.value(f"{TEXT}.includes('steered') && {TEXT}.includes('signal snap')"):
                write(run, [next(numbers)])
            write(run, [next(numbers)])
            assert {rank.must("get_double", "dt").value for rank in run.ranks} == {0.125}
            browser.wait("[...document.querySelectorAll('td span')].some(each => each.textContent === '0.125')")
            browser.value("""document.querySelector('[aria-label="new value of dt"]').value = '0.0625'""")
            shown = "document.querySelector('.numbers b').textContent"
            before = browser.value(shown)
            write(run, [next(numbers)])
            browser.wait(f"{shown} !== '{before}'")
            assert browser.value("""document.querySelector('[aria-label="new value of dt"]').value""") == "0.0625", "what is typed stays"
            browser.picture(tmp_path / "page.png")
            refused = [each for each in browser.errors if "409" not in str(each)]  # Chromium counts what is refused as an error
            assert not refused, refused
            run.finish()
    assert "steers dt from 0.5 to 0.125" in run.log()


def test_what_it_says_are_the_values_of_the_run(tmp_path):
    with started(tmp_path) as run:
        run.init()
        with Dash(run) as dash:
            write(run, range(8))
            state = dash.await_state(run.session, lambda state: state["metrics"]["iterations"]["stored"] == 8, "8 stored")
            assert state["connection"] == "there" and state["iteration"] == 8 and state["status"]["ranks"]["attached"] == 2
            assert {each["name"]: each["value"] for each in state["parameters"]} == {"dt": 0.5}
            dash.await_state(run.session, lambda state: state["pictures"] == {"means/picture": [0, 5]}, "pictures")
            assert dash.json(f"/scalars?run={run.session}") == {"means": {"number": [list(range(8)), [10.0 * i for i in range(8)]]}}
            status, headers, picture = dash.get(f"/picture?run={run.session}&name=means/picture&iteration=5")
            assert status == 200 and headers["Content-Type"] == "image/png" and picture.startswith(b"\x89PNG")
            assert struct.unpack(">II", picture[16:24]) == (4, 3)
            facts, values = slice_of(dash, run.session)
            with np.errstate(over="ignore"):
                wanted = np.concatenate(field_of(7)).astype("f4")
            assert facts["iteration"] == 7 and facts["of"] == [12, 10] and values.tobytes() == wanted.tobytes()
            assert "is no field" in slice_of(dash, run.session, variable="iteration")[0]["error"]
            run.finish()


def test_another_server_is_shown_when_one_was_killed_and_one_that_is_stopped_hangs_nothing(tmp_path):
    with started(tmp_path) as run:
        run.init()
        with Dash(run) as dash:
            write(run, range(3))
            dash.await_state(run.session, lambda state: state["connection"] == "there", "the first")
            pid = run.server()
            os.kill(pid, signal.SIGSTOP)
            dash.await_state(run.session, lambda state: state["connection"] == "lost" and state["status"]["pid"] == pid, "no answer")
            os.kill(pid, signal.SIGCONT)
            dash.await_state(run.session, lambda state: state["connection"] == "there", "an answer")
            os.kill(pid, signal.SIGKILL)
            await_death(pid)
            write(run, range(3, 6))
            state = dash.await_state(run.session, lambda state: state["connection"] == "there" and state["status"]["pid"] != pid, "next")
            assert state["status"]["takeovers"] == 1
            run.finish()
            dash.await_state(run.session, lambda state: state["connection"] == "ended", "the end")


def test_a_reader_that_is_killed_is_started_anew_and_a_damaged_file_is_said(tmp_path):
    with started(tmp_path) as run:
        run.init()
        with Dash(run) as dash:
            write(run, range(3))
            dash.await_state(run.session, lambda state: state.get("files"), "the file")
            assert slice_of(dash, run.session)[1].shape == (12, 10)
            (reader,) = [pid for pid in children_of(dash.process.pid) if b"fields" in words_of(pid)]
            os.kill(reader, signal.SIGKILL)
            await_death(reader)
            assert slice_of(dash, run.session)[1].shape == (12, 10)
            (reader,) = [pid for pid in children_of(dash.process.pid) if b"fields" in words_of(pid)]
            os.kill(reader, signal.SIGSTOP)
            assert "could not be read within" in slice_of(dash, run.session)[0]["error"]
            assert slice_of(dash, run.session)[1].shape == (12, 10)
            run.finish()
    assert not os.path.exists(f"/proc/{reader}")


def children_of(pid):
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(FileNotFoundError), open(f"/proc/{pid}/task/{task}/children") as file:  # threads end
            found += map(int, file.read().split())
    return found


def words_of(pid):
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read().split(b"\0")


def test_a_socket_of_the_file_system_is_the_users_alone(tmp_path):
    path = str(tmp_path / "page.sock")
    with started(tmp_path) as run:
        run.init()
        with Dash(run, "--socket", path) as dash:
            assert stat.S_IMODE(os.stat(path).st_mode) == 0o600 and f"ssh -L 8080:{path} " in dash.said
            assert dash.get("/")[0] == 200
        assert not os.path.exists(path)
        with socket.socket(socket.AF_UNIX) as left:  # by one that was killed
            left.bind(path)
        with Dash(run, "--socket", path) as dash:
            assert dash.get("/")[0] == 200
            assert "cannot listen on" in refused(run, path)
        (tmp_path / "file").write_text("mine")
        assert "cannot listen on" in refused(run, tmp_path / "file") and (tmp_path / "file").read_text() == "mine"
        write(run, range(1))
        run.finish()


def refused(run, path):
    """What it says where it cannot listen."""
    done = subprocess.run([BUILD / "bin/leat", "dash", "--interpreter", sys.executable, "--socket", path], env=run.environment,
                          capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 1
    return done.stderr

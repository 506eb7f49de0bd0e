# SPDX-License-Identifier: Apache-2.0
"""`leat ls` of running sessions: they do not notice."""
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest
from leat_run import BUILD, LIMIT, Run, xml

DATA = """<parameter name="nx" type="int" value="8"/>
<layout name="cells" type="double" dimensions="nx,4" names="y,x"/>
<layout name="list" type="int" dimensions="?" names="n"/>
<variable name="u" layout="cells" unit="K" description="temperature"/>
<variable name="held" layout="list"/>"""


def ls(run, *arguments):
    done = subprocess.run([BUILD / "bin/leat", "ls", "--timeout", str(LIMIT), *arguments], capture_output=True, text=True, cwd=run.folder,
                          env=run.environment)
    assert done.returncode == 0, done
    return done.stdout


def ls_json(run, *arguments):
    return json.loads(ls(run, *arguments, "--json"))


def write(ranks, iterations):
    for i in iterations:
        for rank in ranks:
            assert rank.write("u", 8 * 4 * 8, i).ok
            rank.end()


def done_up_to(run, iteration):
    until = time.monotonic() + LIMIT
    while ls_json(run, run.session)["iteration_done"] != iteration:
        assert time.monotonic() < until, run.log()


def test_a_running_session_and_its_file_are_shown_and_it_goes_on_undisturbed(tmp_path):
    with Run(tmp_path, xml(DATA), ranks=2) as run:
        a, b = run.init()
        write((a, b), range(3))
        assert a.write("u", 8 * 4 * 8, 3).ok  # and b is held: iteration 3 stays open
        done_up_to(run, 2)
        seen = ls_json(run, run.session)
        assert (seen["kind"], seen["state"], seen["simulation"], seen["pid"]) == ("session", "running", "run", run.server())
        assert seen["ranks"] == {"node": 2, "all": 2, "attached": 2}
        assert [c["phase"] for c in seen["clients"]] == ["attached"] * 2
        assert seen["buffer"]["bytes"] == 16 << 20 and 0 < seen["buffer"]["leased_bytes"] <= 16 << 20
        assert [(s["name"], s["plugin"], s["done"]) for s in seen["stores"]] == [("out", "hdf5", 2)]
        assert [f["file"] for f in seen["files"]] == [str(tmp_path / "run.h5")]
        assert [v["shape"] for v in seen["variables"]] == [["nx", "4"], ["?"]]
        screen = ls(run, run.session)
        assert "2 of 2 on this node attached, 2 in all" in screen and re.search(r"u +float64 +y=nx x=4 +K +temperature", screen)
        file = ls_json(run, "run.h5")
        assert (file["state"], file["iterations"]["count"], file["session_alive"]) == ("running", 3, True)
        whole = ls_json(run)
        assert [(f["file"], f["state"]) for f in whole["files"]] == [("run.h5", "running")]
        assert run.session in [s["session"] for s in whole["sessions"]]
        assert re.search(rf"{run.session} +run +2 +2 +16 MiB", ls(run))
        b.write("u", 8 * 4 * 8, 3)
        for rank in (a, b):
            rank.end()
        run.finish()
    assert os.listdir(run.runtime) == [] and "nothing lost" in run.log()
    assert ls_json(run, "run.h5")["state"] == "closed" and "nothing was lost" in ls(run, "run.h5")
    assert run.session not in [s["session"] for s in ls_json(run)["sessions"]]


def test_a_session_whose_server_was_killed_waits_for_the_next_and_its_file_is_whole(tmp_path):
    with Run(tmp_path, xml(DATA), ranks=1) as run:
        (a,) = run.init()
        write((a,), range(3))
        done_up_to(run, 2)
        os.kill(run.server(), signal.SIGKILL)
        run.await_end()
        segment = run.segments()[0]
        before = sorted((p.name, p.stat().st_mtime_ns, p.stat().st_size) for p in tmp_path.iterdir() if p != run.runtime)
        seen = ls_json(run, run.session)
        assert (seen["state"], seen["pid"], seen["iteration_done"]) == ("waiting for its next server", None, 2)
        file = ls_json(run, "run.h5")
        assert (file["state"], file["session_alive"], file["iterations"]["count"]) == ("killed", True, 3)
        assert "the next one goes on with it" in ls(run, "run.h5")
        assert run.segments() == [segment]
        assert before == sorted((p.name, p.stat().st_mtime_ns, p.stat().st_size) for p in tmp_path.iterdir() if p != run.runtime)
        count, until = 3, time.monotonic() + LIMIT
        while ls_json(run, run.session)["takeovers"] == 0:  # ranks look after their server now and then
            assert time.monotonic() < until, run.log()
            write((a,), [count])
            count += 1
        done_up_to(run, count - 1)
        assert ls_json(run, run.session)["takeovers"] == 1 and ls_json(run, run.session)["pid"] == run.server()
        run.finish()
    assert ls_json(run, "run.h5")["iterations"]["count"] == count


def test_nothing_of_leat_ls_asks_what_the_system_says_of_processes():
    root = pathlib.Path(__file__).parents[2]
    sources = [*root.glob("server/cli/ls*"), *root.glob("server/cli/control_client*"),
               *root.glob("server/cli/drain*"), root / "lib/control/run_json.cpp",
               root / "lib/control/protocol.cpp", root / "lib/node/stale_resources.cpp", root / "lib/os/descriptor.cpp"]
    assert len(sources) > 12
    for source in sources:
        assert not re.search(r'"/proc|process_facts|process_family|\blives\(|this_process\(', source.read_text()), source


def test_a_session_is_shown_where_there_is_no_proc(tmp_path):
    hides = ["unshare", "--user", "--map-current-user", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
    if os.geteuid() == 0:
        hides[1:3] = []
    if subprocess.run([*hides, "true"], capture_output=True).returncode != 0:
        pytest.skip("nothing can be mounted here")
    with Run(tmp_path, xml(DATA), ranks=1) as run:
        (a,) = run.init()
        write((a,), range(3))
        done_up_to(run, 2)
        seen = subprocess.run([*hides, BUILD / "bin/leat", "ls", run.session, "--json", "--timeout", str(LIMIT)],
                              capture_output=True, text=True, cwd=run.folder, env=run.environment)
        assert seen.returncode == 0, seen
        facts = json.loads(seen.stdout)
        assert (facts["state"], facts["pid"], facts["iteration_done"]) == ("running", run.server(), 2)
        assert [f["file"] for f in facts["files"]] == [str(tmp_path / "run.h5")]
        run.finish()

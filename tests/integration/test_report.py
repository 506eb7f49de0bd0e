# SPDX-License-Identifier: Apache-2.0
"""<name>.report.json and the last lines of the log: what can be known of a run without a clock is compared, times with bounds that
hold on any machine."""
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from leat_run import BUILD, Run, await_file, xml
from without_xarray import without_xarray  # noqa: F401

MIB = 1 << 20
ARRAY = f'<layout name="l" type="double" dimensions="{MIB // 8}"/><variable name="u" layout="l"/>'
GATE = f'<store name="gate" library="{BUILD}/lib/leat/test/gate.so"/>'


def report(folder, name="run"):
    return json.loads((folder / f"{name}.report.json").read_text())


def write(run, iterations, pause=0.0):
    for iteration in iterations:
        for rank in run.ranks:
            assert rank.write("u", MIB, 10 * rank.number + iteration).ok
        time.sleep(pause)
        for rank in run.ranks:
            rank.must("end_iteration")


def test_what_a_run_took(tmp_path):
    with Run(tmp_path, xml(ARRAY, log='<log level="debug"/>'), ranks=2) as run:
        run.init()
        began = time.monotonic()
        write(run, range(8), pause=0.02)
        run.finish()
        whole = time.monotonic() - began
    found = report(tmp_path)
    assert (found["ranks"], found["iterations"], found["bytes"], found["buffer_bytes"]) == (2, 8, 16 * MIB, 16 * MIB)
    assert 2 * MIB <= found["buffer_most_used_bytes"] <= 16 * MIB
    assert [(s["name"], s["calls"]) for s in found["stores"]] == [("out", 8)] and found["scripts"] == []
    assert 0.02 <= found["iteration_seconds"] <= found["iteration_longest_seconds"] < whole
    assert 0 < found["inside_seconds"] and found["compute_seconds"] == pytest.approx(found["iteration_seconds"] - found["inside_seconds"])
    assert found["stores"][0]["seconds"] / 8 == pytest.approx(found["store_seconds"])
    assert 7 * found["iteration_seconds"] < found["measured_seconds"] < whole + found["iteration_seconds"]
    assert found["advice"] in run.log() and "an iteration took " in run.log()


def test_its_plan_is_the_model_of_what_was_measured(tmp_path):
    with Run(tmp_path, xml(ARRAY)) as run:
        run.init()
        write(run, range(5))
        run.finish()
    found = report(tmp_path)
    done = subprocess.run([BUILD / "bin/leat", "plan", "--from", "run.report.json", "--json"], cwd=tmp_path, capture_output=True, text=True)
    said = json.loads(done.stdout)
    assert said["compute_seconds"] == found["compute_seconds"] and said["iterations"] == 5 and said["bytes"] == MIB
    shared = found["cores_are_shared"]
    assert said["cores"] == (1 if shared else 2)
    (as_it_was,) = [w for w in said["ways"] if (w["way"], w["dedicated_cores"]) == (("dynamic", 0) if shared else ("dedicated", 1))]
    assert as_it_was["total_seconds"] == pytest.approx(found["expected_seconds"])


def test_analyses_on_the_cores_of_the_ranks_are_not_counted_as_computing(tmp_path):
    (tmp_path / "busy.py").write_text("""import time
import leat
@leat.on_iteration(variables=["u"])
def busy(data, ctx):
    begin = time.process_time()
    while time.process_time() < begin + 0.05:
        pass
""")
    text = xml(ARRAY, buffer="256MiB",
               log=f'<scripts interpreter="{sys.executable}"><script file="busy.py" when-slow="wait"/></scripts>')
    cores = len(os.sched_getaffinity(0))
    with Run(tmp_path, text, ranks=cores) as run:
        run.init()
        write(run, range(6))
        run.finish()
    found = report(tmp_path)
    (script,) = found["scripts"]
    assert found["cores_are_shared"] and script["calls"] == 6 and 0 <= script["without_core_seconds"] < script["seconds"]
    assert found["script_seconds"] * 6 == pytest.approx(script["seconds"] - script["without_core_seconds"])
    assert script["seconds"] - script["without_core_seconds"] >= 6 * 0.04, "it has worked for that long"
    done = subprocess.run([BUILD / "bin/leat", "plan", "--from", "run.report.json", "--json"], cwd=tmp_path, capture_output=True, text=True)
    said = json.loads(done.stdout)
    assert said["compute_seconds"] == pytest.approx(max(0, found["compute_seconds"] - found["script_seconds"] / cores))
    assert said["cores"] == cores
    screen = subprocess.run([BUILD / "bin/leat", "plan", "--from", "run.report.json"], cwd=tmp_path, capture_output=True, text=True).stdout
    assert re.search(r"computing .*: estimated$", screen, re.M) and re.search(r"no dedicated core: .* this run$", screen, re.M), screen


@pytest.mark.parametrize("mode", ["full", "sync"])
def test_a_rank_that_waits_is_inside(tmp_path, mode):
    """For memory, or for the end: half a second in which a store is stopped."""
    text = xml(ARRAY, store=GATE, buffer="4MiB" if mode == "full" else "16MiB")
    with Run(tmp_path, text.replace('cores="1"/>', f'cores="1" mode="{"sync" if mode == "sync" else "async"}"/>')) as run:
        (rank,) = run.init()
        for i in range(2):
            (tmp_path / f"gate-{i}").touch()
        write(run, range(2))
        rank.must("write", "u", 0, MIB, 3)
        rank.start("end_iteration")
        await_file(tmp_path / "begun-2")
        if mode == "full":
            assert rank.result().ok
            for _ in range(2):
                rank.must("write", "u", 0, MIB, 4)
                rank.must("end_iteration")
            rank.start("write", "u", 0, MIB, 5)
        time.sleep(0.5)
        assert not rank.has_answered()
        (tmp_path / "gate-open").touch()
        assert rank.result().ok
        write(run, range(5, 7))
        run.finish()
    found = report(tmp_path)
    assert found["synchronous"] == (mode == "sync")
    assert found["inside_seconds"] * (found["iterations"] - 1) >= 0.5


def test_of_one_iteration_there_is_nothing_to_say(tmp_path):
    with Run(tmp_path, xml(ARRAY, log='<log level="debug"/>')) as run:
        run.init()
        write(run, range(1))
        run.finish()
    assert not (tmp_path / "run.report.json").exists() and "an iteration took" not in run.log()


def test_a_server_that_takes_over_reports_its_own_time(tmp_path):
    with Run(tmp_path, xml(ARRAY)) as run:
        run.init()
        write(run, range(5))
        os.kill(run.server(), 9)
        write(run, range(5, 9))
        run.finish()
    found = report(tmp_path)
    assert found["since_takeover"] and 2 <= found["iterations"] <= 9


def test_a_report_that_cannot_be_written_costs_nothing_else(tmp_path):
    (tmp_path / "run.report.json").mkdir()
    with Run(tmp_path, xml(ARRAY)) as run:
        run.init()
        write(run, range(3))
        run.finish()
    assert "cannot write the report of this run" in run.log() and "nothing lost" in run.log()


def test_two_runs_in_one_folder_have_a_report_each(tmp_path):
    def stored_in(file):
        return xml(ARRAY, store=f'<store name="out" type="hdf5"><option name="file" value="{file}"/></store>')

    with Run(tmp_path, stored_in("one.h5")) as one, Run(tmp_path, stored_in("two.h5"), name="other") as two:
        for run in (one, two):
            run.init()
            write(run, range(3))
        for run in (one, two):
            run.finish()
    reports = [json.loads(path.read_text()) for path in tmp_path.glob("*.report.json")]
    assert {each["session"] for each in reports} == {one.session, two.session}


SLEEPS = """import time
import leat
@leat.on_iteration(variables=["u"], every={every})
def sleeps(data, ctx):
    time.sleep({seconds})
"""


def timed_run(folder, iterations, pause, seconds, every=1, buffer="16MiB", mode="async"):
    """Of one rank that computes for `pause`, with a script that works for `seconds`; how long it took, and its advice."""
    folder.mkdir()
    (folder / "sleeps.py").write_text(SLEEPS.format(every=every, seconds=seconds))
    text = xml(ARRAY, buffer=buffer, store="",
               log=f'<scripts interpreter="{sys.executable}"><script file="sleeps.py" when-slow="wait"/></scripts>')
    with Run(folder, text.replace('cores="1"/>', f'cores="1" mode="{mode}"/>').replace("<storage></storage>", "")) as run:
        run.init()
        began = time.monotonic()
        write(run, range(iterations), pause)
        run.finish()
        return time.monotonic() - began, report(folder), run.log()


def test_a_run_is_shorter_when_its_advice_is_followed(tmp_path):
    """Three at a time, as they mostly sleep: each has to take ten seconds."""
    cases = {
        "every": (r'as the buffer was full; script "sleeps" takes .* with every=(?P<every>\d+) it keeps up', 0.7,
                  dict(iterations=230, pause=0.02, seconds=0.06, buffer="4MiB")),
        "buffer": (r'as the buffer was full; .* <buffer size="(?P<buffer>[^"]+)">', 0.85,
                   dict(iterations=230, pause=0.03, seconds=0.03, buffer="1536KiB")),
        "async": (r'for the stores and scripts: with mode="(?P<mode>async)"', 0.85,
                  dict(iterations=230, pause=0.03, seconds=0.03, mode="sync")),
    }

    def follow(name):
        expected, shorter, what = cases[name]
        took, first, log = timed_run(tmp_path / name, **what)
        assert took > 10 and (change := re.search(expected, first["advice"])), (took, first)
        assert first["advice"] in log
        then, second, _ = timed_run(tmp_path / f"{name}-2", **{**what, **change.groupdict()})
        assert then < shorter * took, (took, then, first, second)

    with ThreadPoolExecutor() as threads:
        for done in [threads.submit(follow, name) for name in cases]:
            done.result()


def test_no_advice_in_a_run_too_short_to_judge(tmp_path):
    _, found, _ = timed_run(tmp_path / "run", iterations=20, pause=0.02, seconds=0.06, buffer="4MiB")
    assert found["advice"] == "" and found["buffer_wait_seconds"] > 0.02


def test_the_terminal_has_two_lines_of_a_good_run_and_a_log_file_the_rest(tmp_path):
    """Where it writes; what was stored, and lost. Where the server was and where the time went is in a file, or with level="debug"."""
    logs = {}
    for name, log in (("terminal", ""), ("file", '<log file="run.log"/>'), ("brief", '<log file="run.log" level="info"/>')):
        (folder := tmp_path / name).mkdir()
        with Run(folder, xml(ARRAY, log=log)) as run:
            run.init()
            write(run, range(5))
            run.finish()
        logs[name] = [line.split("info: ")[-1] for line in (run.log() if not log else (folder / "run.log").read_text()).splitlines()]
        assert not log or not run.log()
    assert logs["terminal"] == logs["brief"] == ['store "out": writing run.h5', "done: 5 iterations ended, 5 stored (5 MiB), nothing lost"]
    assert re.search(r" debug: session \S+, of \S*run.xml: ", logs["file"][0])
    assert len(logs["file"]) == 6 and any(" debug: " in line and "server on core" in line for line in logs["file"]), logs["file"]


def test_a_log_keeps_what_earlier_runs_have_written_where_the_xml_says_so(tmp_path):
    for append, runs in (("false", 1), ("true", 2)):
        (folder := tmp_path / append).mkdir()
        for _ in range(2):
            with Run(folder, xml(ARRAY, log=f'<log file="run.log" append="{append}"/>')) as run:
                run.init()
                write(run, range(5))
                run.finish()
        assert (folder / "run.log").read_text().count("done: 5 iterations ended") == runs

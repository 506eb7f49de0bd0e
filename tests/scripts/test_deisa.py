# SPDX-License-Identifier: Apache-2.0
"""<script form="deisa">: analyses of deisa-dask run unchanged, and compute what deisa-dask computes."""
import contextlib
import itertools
import os
import re
import signal
import subprocess
import time

import pytest
from cluster_run import script_process
from control_run import wait_until
from deisa_run import DeisaRun, V, config_of, seen, told, told_by_deisa_itself
from leat_run import BUILD, LIMIT

NODES = [[[0]], [[0], [1]], [[0, 1], [2, 3]], [[0], [1], [2], [3]]]

CALLBACKS = '''
@deisa.register("u")
def latest(us):
    tell("latest", window(us))

@deisa.register(Window("u", 3))
def three(us):
    tell("three", window(us))

def both(us, vs):
    tell("both", window(us), window(vs))
deisa.register_callback(both, "u", Window("v", 2), when="AND")

@deisa.register(Window("u", 2), Window("v", 2), when="OR")
def either(us, vs):
    tell("either", window(us[-1:]), window(vs[-1:]))

def handle(error):
    tell("handled", str(error))
    if "at 2" in str(error):
        raise RuntimeError("the handler fails too")

@deisa.register("u", exception_handler=handle)
def fails(us):
    raise ValueError(f"at {us[-1].t}")

@deisa.register("u")
def fails_without_a_handler(us):
    tell("fails", us[-1].t)
    us[-1].no_such_thing()

@deisa.register("v")
def leaves(vs):
    tell("leaves", window(vs))
    deisa.unregister_callback(leaves)

try:
    deisa.register("w")(latest)
except ValueError as error:
    tell("unknown", "unknown array name: " in str(error))

deisa.execute_callbacks()
tell("ends")
'''


def expected(ranks, iterations):
    """What CALLBACKS tell."""
    def u(*numbers):
        return [seen(number, ranks) for number in numbers]

    def v(*numbers):
        return [seen(number, ranks, V) for number in numbers]

    lines = [["begins"], ["unknown", True], ["ends"], ["leaves", v(0)]]
    last_v = []
    for i in range(iterations):
        lines += [["latest", u(i)], ["three", u(*range(max(0, i - 2), i + 1))], ["fails", i]]
        lines += [["handled", f"at {i}"]] if i <= 2 else []
        lines += [["either", u(i), v(last_v[-1])]] if last_v else []
        if i % 2 == 0:
            last_v.append(i)
            lines += [["both", u(i), v(*last_v[-2:])], ["either", u(i), v(i)]]
    return sorted(lines)


@pytest.mark.parametrize("nodes", NODES)
def test_an_analysis_runs_unchanged(tmp_path, nodes):
    with DeisaRun(tmp_path, nodes, CALLBACKS) as run:
        run.init()
        for i in range(6):
            run.step(i)
        run.finish()
        log = run.log()
    lines = told(tmp_path)
    assert sorted(lines) == expected(sum(map(len, nodes)), 6), log
    assert lines[0] == ["begins"] and lines[-1] == ["ends"]
    assert "its exception handler raised an exception too; it is not called any more" in log
    assert log.count("Deisa: a callback failed:") == 6 and "no_such_thing" in log
    assert "executed anew" not in log and "windows begin anew" not in log


def test_deisa_dask_itself_computes_the_same(tmp_path):
    told = []
    for attempt in range(3):  # on a loaded machine it loses arrays, says "caused the cluster to lose scattered data", or hangs
        with contextlib.suppress(subprocess.SubprocessError):
            told.append(sorted(told_by_deisa_itself(tmp_path / f"itself{attempt}", CALLBACKS, 2, 6)))
        if expected(2, 6) in told:
            return
    assert told == [expected(2, 6)]


FEEDBACK = '''
@deisa.register("u")
def steer(us):
    if us[-1].t == 1:
        deisa.set("heat", 0.25, timestep=us[-1].t)
    if us[-1].t == 2:
        deisa.set("heta", 1.0, timestep=2)
    tell("steered", us[-1].t)

deisa.execute_callbacks()
'''


@pytest.mark.parametrize("nodes", NODES[1:3])
def test_feedback_reaches_all_ranks_in_the_same_iteration(tmp_path, nodes):
    with DeisaRun(tmp_path, nodes, FEEDBACK) as run:
        run.init()
        values = []
        until = time.monotonic() + LIMIT
        for i in itertools.count():
            values.append([rank.must("get_double", "heat").value for rank in run.ranks])
            run.step(i)
            if i < 2:
                wait_until(lambda i=i: ["steered", i] in told(tmp_path), "the callback")
            if i > 3 and (values[-1][0] == 0.25 or time.monotonic() > until):
                break
            time.sleep(0.02)
        run.finish()
        log = run.log()
    assert all(len(set(each)) == 1 for each in values)
    assert [each[0] for each in values][0] == 0.5 and values[-1][0] == 0.25, log
    assert 'there is no parameter "heta"' in log and 'did you mean "heat"' in log
    assert log.count("timestep is not looked at") == 1


SLOW = '''
@deisa.register(Window("u", 3))
def three(us):
    tell("three", window(us))
    while us[-1].t == 2 and os.path.exists("hold"):
        us[-1].max().compute()  # ends when a worker is lost

deisa.execute_callbacks()
tell("ends")
'''


@pytest.mark.parametrize("node", [0, 1])
def test_windows_begin_anew_after_a_kill(tmp_path, node):
    (tmp_path / "hold").touch()
    with DeisaRun(tmp_path, [[0], [1], [2]], SLOW, timeout="3s", attributes='timeout="8s"') as run:
        run.init()
        for i in range(3):
            run.step(i)
        wait_until(lambda: any(line[0] == "three" and line[1][-1][0] == 2 for line in told(tmp_path)), "iteration 2")
        os.kill(script_process(run, node), signal.SIGKILL)
        if node == 0:
            (tmp_path / "hold").unlink()
        else:
            wait_until(lambda: "was lost" in run.log(), "the loss to be seen")
        for i in range(3, 8):
            run.step(i)
        run.finish()
        log = run.log()
    lines = told(tmp_path)
    windows = [line[1] for line in lines if line[0] == "three"]
    for each in windows:  # nothing is ever of another iteration
        assert each == [seen(number, 3) for number, _ in each]
    after = [[number for number, _ in each] for each in windows if each[-1][0] > 2]
    assert after[0] == after[0][-1:] and after[-1] == [5, 6, 7], (after, log)
    assert "windows begin anew" in log and ("executed anew" in log) == (node == 0), log
    assert lines.count(["begins"]) == (2 if node == 0 else 1) and lines[-1] == ["ends"]


WRONG = {
    "deisa.register('u')(print)\n1 / 0": "ZeroDivisionError",
    "raise SystemExit('no more')": "no more",
    "tell('passes')": "the file has ended without execute_callbacks()",
    "deisa.register()(print)": "names of arrays are expected",
    "deisa.register('u', when='XOR')(print)": '"AND" or "OR" is expected',
    "from deisa.dask import Bridge\nBridge(None, {})": "the simulation hands over its arrays with leat_write",
    "deisa.execute_callbacks()\n1 / 0": "ZeroDivisionError",
    "deisa.execute_callbacks()\ndeisa.set('heat', 1.0, 5)": "the simulation may have ended",
}


@pytest.mark.parametrize("code", WRONG)
def test_what_goes_wrong_in_the_file_is_said(tmp_path, code):
    with DeisaRun(tmp_path, [[0]], code) as run:
        run.init()
        for i in range(4):
            run.step(i)
        run.finish()
        log = run.log()
    assert WRONG[code] in log, log
    assert told(tmp_path).count(["begins"]) == 1


def test_variables_and_every_say_what_it_gets(tmp_path):
    code = '''
@deisa.register(Window("u", 2))
def two(us):
    tell("two", window(us))
try:
    deisa.register("v")(two)
except ValueError as error:
    tell("unknown")
deisa.execute_callbacks()
'''
    with DeisaRun(tmp_path, [[0], [1]], code, attributes='variables="u" every="2"') as run:
        run.init()
        for i in range(5):
            run.step(i)
        run.finish()
    assert told(tmp_path) == [["begins"], ["unknown"], *(["two", [seen(n, 2) for n in each]] for each in ([0], [0, 2], [2, 4]))]


def test_check_says_what_is_missing(tmp_path):
    text = config_of(tmp_path, 1, "deisa.execute_callbacks()")

    def check(xml):
        (tmp_path / "run.xml").write_text(xml)
        done = subprocess.run([BUILD / "bin/leat", "check", "run.xml"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
        return done.stdout + done.stderr
    assert re.search(r"analysis +\(for Deisa\) +u, v", check(text)), check(text)
    without = re.sub(r'interpreter="[^"]*"', 'interpreter="/usr/bin/python3"', text)
    assert "pip install deisa-core" in check(without)
    assert not (tmp_path / "told.jsonl").exists()

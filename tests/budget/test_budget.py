# SPDX-License-Identifier: Apache-2.0
"""What calls cost a simulation whose iterations are alike, counted and not timed: instructions (callgrind), system calls
(strace). The counts are those of a release build, and may be bettered; the limits then follow."""
import os
import re
import subprocess

import pytest
from leat_run import BUILD, LIMIT

CLIENT = BUILD / "bin" / "budget_client"
XML = """<simulation name="budget"><architecture><dedicated cores="1"/><buffer size="64MiB" timeout="30s"/></architecture>
<data><layout name="small" type="uint8" dimensions="64"/><variable name="small" layout="small"/>
<layout name="kib" type="uint8" dimensions="1024"/><variable name="kib" layout="kib"/>
<layout name="medium" type="uint8" dimensions="65536"/><variable name="medium" layout="medium"/>
<layout name="large" type="uint8" dimensions="1048576"/><variable name="large" layout="large"/></data>
<storage><store name="out" type="hdf5"/></storage></simulation>"""
MOST = {"write": 392, "kib": 507, "alloc": 335, "commit": 300, "end": 472}
# What a trace adds; valgrind has a system call for a look at the clock, of which it counts some 20 instructions.
MOST_OF_TRACE = {"write": 80, "kib": 80, "alloc": 5, "commit": 80, "end": 180}
ITERATIONS = 20
ALIKE_FROM = 8  # blocks of 64 KiB need two extents in some iterations and three in others


@pytest.fixture
def run(tmp_path):
    (tmp_path / "budget.xml").write_text(XML)
    own = {"LEAT_SERVER": str(BUILD / "bin" / "leatd"), "LEAT_RUNTIME_DIR": str(tmp_path / "runtime"),
           "LEAT_SESSION": f"budget-{os.getpid()}"}

    def under(*tool):
        done = subprocess.run([*tool, CLIENT, "budget.xml"], cwd=tmp_path, env={**os.environ, **own}, capture_output=True, text=True,
                              timeout=LIMIT)
        assert done.returncode == 0, done
        return tmp_path
    return under


def instructions(run):
    """Of each call, by its name."""
    folder = run("valgrind", "--tool=callgrind", "--collect-atstart=no", "--callgrind-out-file=cost")
    costs = {}
    for dump in folder.glob("cost.*"):
        text = dump.read_text()
        name = re.search(r"^desc: Trigger: Client Request: (\w+)$", text, re.MULTILINE)
        total = re.search(r"^(?:summary|totals): (\d+)$", text, re.MULTILINE)
        if name and total:
            costs[name[1]] = int(total[1])
        dump.unlink()
    print(costs)
    assert set(costs) == set(MOST)
    return costs


def test_small_calls_cost_no_more_with_staging_nodes(run, tmp_path):
    """Of an end of an iteration 50 instructions are the doorbell, which a server that is awake does without."""
    twice = [instructions(run), instructions(run)]
    beside = {call: max(each[call] for each in twice) for call in MOST}
    staged = XML.replace("<buffer", '<staging nodes="1"/><buffer').replace("<store", '<store at="staging"')
    (tmp_path / "budget.xml").write_text(staged)
    node = subprocess.Popen([BUILD / "lib/leat/plugins/staging-node", "budget.xml"], cwd=tmp_path,
                            env={**os.environ, "LEAT_RUNTIME_DIR": str(tmp_path / "runtime-staging"), "LEAT_INTERFACE": "lo"})
    try:
        there = instructions(run)
        assert node.wait(LIMIT) == 0
    finally:
        node.kill()
        node.wait()
    assert all(there[call] <= 1.02 * beside[call] for call in beside), (beside, there)


def test_small_calls_stay_within_their_budget_of_instructions(run):
    costs = instructions(run)
    over = {name: cost for name, cost in costs.items() if not 0 < cost <= MOST[name]}
    assert not over, f"{over}, and the budget is {MOST}"


def test_with_a_trace_a_call_reads_the_clock_and_does_little_more(run, monkeypatch):
    without = instructions(run)
    monkeypatch.setenv("LEAT_TRACE", "budget.pftrace")
    traced = instructions(run)
    more = {call: traced[call] - without[call] for call in without}
    over = {call: count for call, count in more.items() if not 0 <= count <= MOST_OF_TRACE[call]}
    assert not over, f"{over}, and the budget is {MOST_OF_TRACE}"


def test_in_iterations_that_are_alike_no_write_makes_a_system_call(run):
    folder = run("strace", "-o", "calls")
    lines = (folder / "calls").read_text().splitlines()
    marks = {found[1]: number for number, line in enumerate(lines)
             if (found := re.search(r'access\("/leat/(\w+/\d+)"', line))}
    assert len(marks) == 2 * ITERATIONS
    for iteration in range(ALIKE_FROM, ITERATIONS):
        between = lines[marks[f"begin/{iteration}"] + 1:marks[f"written/{iteration}"]]
        assert not between, f"iteration {iteration}: {between}"

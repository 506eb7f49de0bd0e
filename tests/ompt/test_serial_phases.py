# SPDX-License-Identifier: Apache-2.0
"""libleat_ompt: what lies between parallel regions is an idle phase, in a program that knows nothing of idle phases. It is compiled for
GCC's runtime, which tells tools of nothing, and runs on LLVM's where that is preloaded."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
from arrays_run import products
from control_run import wait_until
from leat_run import BUILD, LIMIT, xml

sys.path.append(os.path.join(os.path.dirname(__file__), "../workers"))
from worker_run import OUT, ROW, WAIT, chunks  # noqa: E402  the plugin that adds up bytes

LIBRARY = BUILD / "lib/libleat_ompt.so"
PROGRAM = BUILD / "bin/leat_omp_phases"
TOOL = {"OMP_TOOL_LIBRARIES": str(LIBRARY)}
LLVM = {**TOOL, "LD_PRELOAD": "libomp.so.5"}
PASSIVE = {"OMP_WAIT_POLICY": "PASSIVE"}
ITERATIONS = 4
KNOWN = 2  # phases before the iterations


def start(folder, *words, runs="harvest", environment=None):
    (folder / "run.xml").write_text(xml(ROW, store=OUT + chunks(f'runs="{runs}" {WAIT}', at="hold")))
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("OMP_", "KMP_", "LEAT_RUNS", "LEAT_PLACE"))}
    return subprocess.Popen([PROGRAM, "run.xml", str(ITERATIONS), *words], cwd=folder, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT,
                            stdout=open(folder / "said", "w"),
                            env={**clean, "LEAT_RUNTIME_DIR": str(folder / "r"), **(environment or {})})


def run(folder, *words, **more):
    with start(folder, *words, **more) as process:
        assert process.wait(LIMIT) == 0, (folder / "said").read_text()
    await_end_of_leat(folder)
    found, numbers = products(folder, "pieces")
    i = np.arange(1000)
    assert numbers == list(range(ITERATIONS)) and found["sum"].tolist() == [int(((7 * i + 13 * n) % 256).sum()) for n in numbers]
    return (folder / "said").read_text(), found["sum"].tobytes()


def await_end_of_leat(folder):
    wait_until(lambda: all(path.suffix == ".late" for path in (folder / "r").iterdir()), "leatd ends")


def phases(folder):
    return json.loads((folder / "run.report.json").read_text())["stores"][1]["idle"]["phases"]


def test_it_works_in_serial_phases_and_makes_what_it_makes_on_the_server(tmp_path):
    made = []
    for runs in ("harvest", "server"):
        folder = tmp_path / runs
        folder.mkdir()
        made.append(run(folder, runs=runs, environment=LLVM | PASSIVE)[1])
        if runs == "harvest":
            idle = json.loads((folder / "run.report.json").read_text())["stores"][1]["idle"]
            assert (idle["phases"], idle["pieces"]) == (KNOWN + ITERATIONS, 8 * ITERATIONS)
            assert idle["found_seconds"] > idle["used_seconds"] > 0
    assert made[0] == made[1]


def test_regions_within_regions_of_one_thread_of_other_threads_and_of_children_change_nothing(tmp_path):
    within = 1  # the region that has others within it is one more
    run(tmp_path, "beside", environment=LLVM | PASSIVE)
    assert phases(tmp_path) == KNOWN + within + ITERATIONS


def test_a_rank_that_is_killed_in_a_serial_phase_costs_nothing_but_itself(tmp_path):
    with start(tmp_path, "held", environment=LLVM | PASSIVE) as process:
        pieces = tmp_path / "pieces"
        wait_until(lambda: pieces.exists() and len(pieces.read_text().splitlines()) > 8 * (ITERATIONS - 1), "it works in the last phase")
        process.send_signal(signal.SIGKILL)
    for left in pathlib.Path("/dev/shm").glob(f"__KMP_REGISTERED_LIB_{process.pid}_*"):  # LLVM's runtime removes it at its end alone
        left.unlink()
    await_end_of_leat(tmp_path)
    assert products(tmp_path, "pieces")[1] == list(range(ITERATIONS))


def test_a_runtime_that_tells_tools_of_nothing_runs_as_ever_and_the_log_says_what_does(tmp_path):
    """The server's end lets the plugin work."""
    (tmp_path / "pieces").write_text("\n" * 8 * ITERATIONS)
    said, _ = run(tmp_path, environment=TOOL)
    assert "no rank has said when it idles, by leat_idle_begin, LD_PRELOAD=libleat_pmpi.so or OMP_TOOL_LIBRARIES=libleat_ompt.so:" in said
    assert phases(tmp_path) == 0


@pytest.mark.parametrize("environment, times", [({}, 1), ({"OMP_WAIT_POLICY": "active"}, 1), ({"KMP_BLOCKTIME": "0"}, 0), (PASSIVE, 0)])
def test_that_threads_keep_their_cores_busy_is_said_once_unless_they_do_not(tmp_path, environment, times):
    said, _ = run(tmp_path, runs="server", environment=LLVM | environment)
    assert said.count("leat: libleat_ompt: threads of OpenMP keep their cores busy") == times, said


def test_without_leat_nothing_is_said_or_done(tmp_path):
    done = subprocess.run([PROGRAM, "run.xml", "0"], cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT,
                          env={**os.environ, **LLVM, "LEAT": "off"})
    assert (done.returncode, done.stdout + done.stderr, list(tmp_path.iterdir())) == (0, "", [])


def test_it_needs_libc_and_libleat_alone_and_shows_what_a_runtime_looks_for(tmp_path):
    def said(*words):
        return subprocess.run([*words, LIBRARY], check=True, capture_output=True, text=True).stdout

    needed = {name.split(".")[0] for name in re.findall(r"\(NEEDED\).*\[(.*)\]", said("readelf", "-d"))}
    assert needed <= {"libleat", "libc", "ld-linux-x86-64", "ld-linux-aarch64"}
    assert [line.split()[-1] for line in said("nm", "-D", "--defined-only").splitlines()] == ["ompt_start_tool"]

# SPDX-License-Identifier: Apache-2.0
"""runs="static" and "dynamic": analyses in the simulation's process, on threads that it lends."""
import json
import os
import pathlib
import subprocess
import time

import h5py
import pytest
from leat_run import BUILD, LIMIT, xml

ROOT = pathlib.Path(__file__).parents[2]
ROW = '<layout name="row" type="int" dimensions="5"/><variable name="a" layout="row"/>'
SCHEDULES = ["static", "dynamic"]


def analysis(runs, **options):
    texts = "".join(f'<option name="{key}" value="{value}"/>' for key, value in options.items())
    return f'<store name="pieces" library="{BUILD}/lib/leat/test/pieces.so" runs="{runs}">{texts}</store>'


def config(store, place="thread"):
    text = xml(ROW, store='<store name="out" type="hdf5"/>' + store)
    return text.replace('<dedicated cores="1"/>', f'<dedicated cores="1" place="{place}"/>')


def environment(folder, **more):
    kept = {k: v for k, v in os.environ.items() if k not in ("LEAT_PLACE", "LEAT_RUNS", "LEAT_SESSION")}
    return {**kept, "LEAT_RUNTIME_DIR": str(folder / "r"), **more}


def lender(folder, text, *words, **more):
    (folder / "run.xml").write_text(text)
    return subprocess.run([BUILD / "bin/lender", "run.xml", *words], cwd=folder, env=environment(folder, **more), capture_output=True,
                          text=True, timeout=LIMIT)


def test_each_piece_is_done_once_on_a_thread_that_is_lent(tmp_path):
    done = lender(tmp_path, config(analysis("dynamic", meet=2)), "5")
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines.count("run 40") == 5 and lines.count("start dynamic 1") == 1 and lines[0] == "start dynamic 1"
    assert 'runs="dynamic": 200 pieces took' in done.stderr, done.stderr
    assert (tmp_path / "pieces.txt").read_text() == "".join(f"{i} 40 2\n" for i in range(5))
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["products/pieces/done"][:].tolist() == [40] * 5


def test_who_lends_is_told_when_the_next_iteration_waits(tmp_path):
    done = lender(tmp_path, config(analysis("dynamic")), "5", "late")
    assert done.returncode == 0 and [line for line in done.stdout.splitlines() if line != "wrote"] == \
        ["start dynamic 1", "run 40", "late", *["run 40"] * 4], done.stdout + done.stderr


def test_late_analyses_get_workers_that_the_simulation_has_work_for(tmp_path):
    """On oneTBB, a simulation that goes on until the analysis of an iteration that another one waits for is done."""
    (tmp_path / "run.xml").write_text(config(analysis("dynamic")))
    done = subprocess.run([BUILD / "bin/busy_tbb", "run.xml"], cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True,
                          timeout=LIMIT)
    assert done.returncode == 0, (done.returncode, done.stdout + done.stderr)


def test_static_uses_cores_of_leat_and_says_how_many(tmp_path):
    done = lender(tmp_path, config(analysis("static")), "3")
    assert done.returncode == 0 and done.stdout.splitlines() == ["start static 1", "wrote"], done.stdout + done.stderr
    assert (tmp_path / "pieces.txt").read_text() == "".join(f"{i} 40 1\n" for i in range(3))


@pytest.mark.parametrize("where, words", [("begin", "told to fail in begin"), ("piece", "told to fail in piece 7")])
def test_an_iteration_of_which_a_piece_fails_is_lost_and_the_next_is_done(tmp_path, where, words):
    done = lender(tmp_path, config(analysis("dynamic", fail=where)), "3")
    assert done.returncode == 6 and words in done.stderr, done.stdout + done.stderr
    entries = json.loads((tmp_path / "run.ledger.json").read_text())["entries"]
    assert {entry["iterations"][0] for entry in entries if entry["fate"] == "failed"} == {1}


def test_who_does_not_lend_is_told_what_to_do(tmp_path):
    for how, code, said in (("refuse", 4, "does not know"), ("broken", 3, "leat_set_executor: the table")):
        done = lender(tmp_path, config(analysis("dynamic")), "3", how)
        assert done.returncode == code and said in done.stderr, done.stdout + done.stderr
    done = lender(tmp_path, config(analysis("dynamic"), place="process"), "3")
    assert done.returncode == 4 and 'write <dedicated place="thread"/>' in done.stderr, done.stderr
    done = lender(tmp_path, config(f'<store name="mine" library="{BUILD}/lib/leat/test/gate.so" runs="dynamic"/>'), "3")
    assert done.returncode == 4 and "does not work in pieces" in done.stderr, done.stderr


def test_a_program_without_threads_to_lend_is_told_so(tmp_path):
    text = (ROOT / "examples/heat_openmp/heat_openmp.xml").read_text()
    (tmp_path / "run.xml").write_text(text)
    done = subprocess.run([BUILD / "bin/heat_openmp", "run.xml", "3"], cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT,
                          env=environment(tmp_path, LEAT_PLACE="thread", LEAT_RUNS="dynamic"))
    assert done.returncode != 0 and "includes leat_tbb.hpp" in done.stderr and 'store "counts"' in done.stderr, done.stderr


def test_what_was_handed_over_is_stored_when_the_process_is_killed_in_the_midst_of_pieces(tmp_path):
    (tmp_path / "run.xml").write_text(config(analysis("dynamic")))
    process = subprocess.Popen([BUILD / "bin/lender", "run.xml", "4", "stall"], cwd=tmp_path, env=environment(tmp_path),
                               stdout=subprocess.PIPE, text=True)
    try:
        said = []
        while not {"run 40", "wrote"} <= set(said):
            said.append(process.stdout.readline().strip())
            assert said[-1], said
    finally:
        process.kill()
        process.wait()
    until = time.monotonic() + LIMIT
    while True:
        done = subprocess.run([BUILD / "bin/leat", "recover"], cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True)
        if done.returncode == 0 and (tmp_path / "pieces.txt").exists() and (tmp_path / "pieces.txt").read_text().count("\n") == 4:
            break
        assert time.monotonic() < until, done.stdout + done.stderr
        time.sleep(0.1)
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [0, 1, 2, 3]

# SPDX-License-Identifier: Apache-2.0
"""leat_init_mpi: all ranks come back together, with one status, after the message is out; and what LEAT_SESSION names."""
import os
import subprocess

import h5py
import pytest
from leat_run import BUILD, LIMIT, xml

ROW = '<layout name="row" type="int" dimensions="5"/><variable name="a" layout="row"/>'


def mpirun(folder, *programs, **environment):
    """`programs`: for each group of ranks their number, their own environment and the arguments."""
    words = ["mpirun", "--oversubscribe"]
    for ranks, own, arguments in programs:
        words += [":"] if len(words) > 2 else []
        words += ["-n", str(ranks), "env", *(f"{name}={value}" for name, value in own.items()), str(BUILD / "bin/init_rank"), *arguments]
    return subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=2 * LIMIT,
                          env={**os.environ, "LEAT_RUNTIME_DIR": str(folder / "r"), "OMPI_ALLOW_RUN_AS_ROOT": "1",
                               "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **environment})


def returned(folder, ranks):
    return [(folder / f"returned-{rank}").read_text() for rank in range(ranks)]


def wrong(folder):
    (folder / "run.xml").write_text(xml(ROW.replace('layout="row"', 'layout="raw"')))


def test_no_rank_returns_before_the_last_one_knows_its_status(tmp_path):
    """Rank 1 fails at once; the server of rank 0 takes its time, and looks whether rank 1 has gone on meanwhile."""
    (tmp_path / "run.xml").write_text(xml(ROW, timeout="2s"))
    slow = tmp_path / "slow-leatd"
    slow.write_text(f"#!/bin/sh\nsleep 1.5\ntest -e returned-1 && touch early\nexec {BUILD / 'bin/leatd'} \"$@\"\n")
    slow.chmod(0o755)
    done = mpirun(tmp_path, (1, {"LEAT_SERVER": slow}, ["run.xml", "finalize"]),
                  (1, {"LEAT_RUNTIME_DIR": "/dev/null/no"}, ["run.xml", "finalize"]))
    assert not (tmp_path / "early").exists()
    first, second = returned(tmp_path, 2)
    assert first == second and "/dev/null/no" in first, done.stderr
    assert done.stderr.count("leat: leat_init_mpi: ") == 1, done.stderr


@pytest.mark.parametrize("ranks", [2, 4])
def test_mpi_abort_after_it_has_failed_leaves_the_message(tmp_path, ranks):
    wrong(tmp_path)
    for _ in range(10):
        assert "leat: leat_init_mpi: run.xml:" in mpirun(tmp_path, (ranks, {}, ["run.xml", "abort"])).stderr


@pytest.mark.parametrize("what, end", [("finalize", "leat_finalize: "), ("forget", "")])
def test_a_code_that_ignores_it_is_told_once_more_at_the_end(tmp_path, what, end):
    wrong(tmp_path)
    said = mpirun(tmp_path, (2, {}, ["run.xml", what])).stderr
    lines = [line for line in said.splitlines() if line.startswith("leat: ")]
    assert len(lines) == 2 and lines[0].startswith("leat: leat_init_mpi: run.xml:"), said
    assert lines[1].startswith(f"leat: {end}nothing of this run is stored: leat_init_mpi had failed, and 10 writes of this rank"), said
    assert "raw" in lines[1]


def test_leat_session_names_the_run(tmp_path):
    (tmp_path / "run.xml").write_text(xml(ROW))
    done = mpirun(tmp_path, (2, {}, ["run.xml", "finalize"]), LEAT_SESSION="my-run")
    assert returned(tmp_path, 2) == 2 * ["LEAT_OK "], done.stderr
    with h5py.File(tmp_path / "run.h5") as file:
        assert file.attrs["session"] == b"my-run"


@pytest.mark.parametrize("name", ["my run", 65 * "x"])
def test_a_name_that_is_none_is_refused_on_all_ranks(tmp_path, name):
    (tmp_path / "run.xml").write_text(xml(ROW))
    mpirun(tmp_path, (2, {}, ["run.xml", "forget"]), LEAT_SESSION=name)
    for rank in returned(tmp_path, 2):
        assert rank.startswith("LEAT_ERROR_ARGUMENT leat_init_mpi: ") and "is no session name" in rank


def test_ranks_that_have_leat_switched_off_do_not_hold_up_the_others(tmp_path):
    """mpirun gives ranks of other nodes none of its environment."""
    (tmp_path / "run.xml").write_text(xml(ROW, timeout="2s"))
    done = mpirun(tmp_path, (1, {"LEAT": "off"}, ["run.xml", "finalize"]), (1, {}, ["run.xml", "finalize"]))
    assert returned(tmp_path, 2) == 2 * ["LEAT_OK "], done.stderr

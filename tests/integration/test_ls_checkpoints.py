# SPDX-License-Identifier: Apache-2.0
"""`leat ls` of checkpoints: which there are, whether they are whole, where and how large, and from which one a run goes on."""
import json
import os
import shutil
import subprocess

import pytest
from checkpoint_run import data_xml, end_all, restart, write_checkpoint
from leat_run import BUILD, Run, xml
from nodes_run import NodesRun

FOLDER = "run.checkpoint"
TEXT = xml(data_xml(3), store="")
NODES = [[0, 1], [2, 3]]


def ls(folder, *words):
    done = subprocess.run([BUILD / "bin/leat", "ls", *words], cwd=folder, capture_output=True, text=True, check=True,
                          env={**os.environ, "LEAT_RUNTIME_DIR": str(folder / "runtime")})
    return done.stdout


def checkpoints(folder, name="."):
    return json.loads(ls(folder, name, "--json"))["checkpoints"]


def next_step(folder):
    """Where a run goes on."""
    with NodesRun(folder, TEXT, NODES) as run:
        step = restart(run)
        run.finish()
    return step


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The folder of a run on two nodes, with checkpoints of iterations 1, 3 and 4."""
    folder = tmp_path_factory.mktemp("ls")
    with NodesRun(folder, TEXT, NODES) as run:
        for step in range(restart(run), 5):
            if step in (1, 3, 4):
                write_checkpoint(run, step, end=False)
            end_all(run)
        run.finish()
    return folder


@pytest.fixture
def copy(written, tmp_path):
    shutil.copytree(written / FOLDER, tmp_path / FOLDER)
    return tmp_path


def of(copy, iteration, ending="index", part=2):
    return copy / FOLDER / f"checkpoint-{iteration:010d}.1.{part}.{ending}"


def test_all_are_there_with_what_they_have_on_the_disk(copy):
    found = checkpoints(copy)
    assert [each["iteration"] for each in found] == [4, 3, 1] and all(each["whole"] and each["problem"] == "" for each in found)
    assert [each["goes_on"] for each in found] == [True, False, False] and next_step(copy) == 5
    for each in found:
        files = list((copy / FOLDER).glob(f"checkpoint-{each['iteration']:010d}.*"))
        assert each["bytes"] == sum(path.stat().st_size for path in files) and len(files) == 4
        assert (each["folder"], each["simulation"], each["ranks"], each["parts"], each["generation"]) == (FOLDER, "run", 4, 2, 1)
    assert checkpoints(copy, FOLDER)[0]["iteration"] == 4
    screen = ls(copy)
    assert "3 checkpoints" in screen and screen.count("whole") == 3 and "whole, a run goes on from it" in screen.splitlines()[2], screen
    assert ls(copy, FOLDER).startswith("3 checkpoints\n")


def test_one_whose_part_is_missing_or_cut_off_is_named_and_passed_over_as_a_run_does(copy):
    of(copy, 4).unlink()
    with open(of(copy, 3, "data", 0), "r+b") as file:
        file.truncate(100)
    found = checkpoints(copy)
    states = [(each["iteration"], each["whole"], each["goes_on"]) for each in found]
    assert states == [(4, False, False), (3, False, False), (1, True, True)]
    assert found[0]["problem"] == "the part of ranks 2-3 is missing" and "has 100 bytes and not" in found[1]["problem"]
    assert "not whole: the part of ranks 2-3 is missing" in ls(copy)
    assert next_step(copy) == 2


def test_one_that_was_never_finished_is_no_checkpoint(copy):
    """What a kill leaves: names that end with .new, or data without an index."""
    for part in (0, 2):
        os.rename(of(copy, 4, "index", part), str(of(copy, 4, "index", part)) + ".new")
    newest = checkpoints(copy)[0]
    assert not newest["whole"] and newest["parts"] == 0 and newest["problem"] == "it is being written, or its writer was killed"
    assert newest["bytes"] == sum(path.stat().st_size for path in (copy / FOLDER).glob("checkpoint-0000000004.*"))
    assert next_step(copy) == 4


def test_a_damaged_index_is_named(copy):
    of(copy, 4).write_bytes(of(copy, 4).read_bytes()[:-20])
    newest = checkpoints(copy)[0]
    assert not newest["whole"] and "index" in newest["problem"] and next_step(copy) == 4


def test_a_run_that_begins_anew_has_the_newest_ones(copy):
    with Run(copy, TEXT, ranks=4, environment={"LEAT_RESTART": "off"}) as run:
        restart(run)
        write_checkpoint(run, 0)
        run.finish()
    found = checkpoints(copy)
    assert (found[0]["iteration"], found[0]["generation"], found[0]["goes_on"]) == (0, 2, True) and next_step(copy) == 1


def test_a_folder_without_any_says_nothing_of_them(tmp_path):
    assert checkpoints(tmp_path) == [] and "checkpoint" not in ls(tmp_path)

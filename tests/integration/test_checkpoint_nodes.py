# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of runs with several servers: each writes its part, and only what all of them have is gone on from."""
import os
import shutil
import signal
import time

import pytest
from checkpoint_run import check_read, data_xml, doomed, end_all, published, restart, write_checkpoint
from leat_run import LIMIT, Run, await_file, xml
from nodes_run import NodesRun

FOLDER = "run.checkpoint"


def text(storage="", store="", keep=2):
    return xml(data_xml(keep, store), store=storage)


def parts(folder, step):
    return sorted(path.name.split(".")[2] for path in folder.glob(f"checkpoint-{step:010d}.*.index"))


def run_on_nodes(folder, nodes, steps, the_text=None):
    with NodesRun(folder, the_text or text(), nodes) as run:
        first = restart(run)
        for step in range(first, max(steps) + 1):
            if step in steps:
                write_checkpoint(run, step, end=False)
            end_all(run)
        run.finish()
    return run


@pytest.mark.parametrize("nodes", [[[0], [1]], [[0, 1, 2]], [[0, 2], [1, 3], [4]]])
def test_what_two_nodes_wrote_is_read_on_others(tmp_path, nodes):
    run_on_nodes(tmp_path, [[0, 1], [2, 3]], [1, 3, 4])
    folder = tmp_path / FOLDER
    assert published(folder)[-2:] == [3, 4] and parts(folder, 4) == ["0", "2"]
    with NodesRun(tmp_path, text(), nodes) as run:
        assert restart(run) == 5
        if sum(map(len, nodes)) in (2, 3):
            check_read(run, 4, 4)
        run.finish()


def test_one_without_the_part_of_a_node_is_not_taken_and_named(tmp_path):
    run_on_nodes(tmp_path, [[0, 1], [2, 3]], [1, 3])
    (tmp_path / FOLDER / "checkpoint-0000000003.1.2.index").unlink()
    with NodesRun(tmp_path, text(), [[0, 1], [2]]) as run:
        assert restart(run) == 2
        check_read(run, 4, 1)
        run.finish()
    assert "checkpoint of iteration 3 is not taken: the part of ranks 2-3 is missing" in run.log(), run.log()


def test_a_node_that_is_killed_leaves_the_one_before(tmp_path):
    """Also what its server had in memory, which is stored when the next run has begun, does not make the newest one whole."""
    with doomed(NodesRun(tmp_path, text(), [[0, 1], [2, 3]])) as run:
        run.init()
        write_checkpoint(run, 0)
        await_file(tmp_path / FOLDER / "checkpoint-0000000000.1.2.index")
        other = run.server_of(1)
        os.kill(other, signal.SIGSTOP)
        write_checkpoint(run, 1)
        for rank in run.ranks[2:]:
            rank.kill()
        os.kill(other, signal.SIGKILL)
        run.finalize(run.ranks[:2])
    with NodesRun(tmp_path, text(), [[0, 1], [2]]) as following:
        assert restart(following) == 1
        check_read(following, 4, 0)
        assert "checkpoint of iteration 1 is not taken: the part of ranks 2-3 is missing" in following.log()
        until = time.monotonic() + LIMIT
        while run.segments():
            assert time.monotonic() < until, "nobody has stored it"
            time.sleep(0.01)
        assert parts(tmp_path / FOLDER, 1) == ["0"]
        following.finish()


def test_disks_of_nodes_and_one_file_system(tmp_path):
    """The first place is another one on each node, as a disk of its own is: a link in the folder of each."""
    storage = f'<store name="safe" type="checkpoint" folder="${{LEAT_TEST_DISK}}" copy="{tmp_path}/shared"/>'
    the_text = text(storage, ' store="safe"')
    each = [{"LEAT_TEST_DISK": str(tmp_path / f"disk{n}")} for n in range(2)]
    with NodesRun(tmp_path, the_text, [[0, 1], [2, 3]], each=each) as run:
        restart(run)
        for step in range(4):
            write_checkpoint(run, step)
        run.finish()
    assert parts(tmp_path / "disk0", 3) == ["0"] and parts(tmp_path / "disk1", 3) == ["2"]
    assert parts(tmp_path / "shared", 3) == ["0", "2"]
    shutil.rmtree(tmp_path / "disk1")
    with NodesRun(tmp_path, the_text, [[0], [1, 2]], each=each) as run:
        assert restart(run) == 4
        check_read(run, 4, 3)
        run.finish()


def test_servers_of_one_node(tmp_path):
    several = text().replace('<dedicated cores="1"/>', '<dedicated cores="2" servers="2"/>')
    with Run(tmp_path, several, ranks=4) as run:
        run.init()
        for step in range(3):
            write_checkpoint(run, step)
        run.finish()
    assert parts(tmp_path / FOLDER, 2) == ["0", "2"]
    with Run(tmp_path, text(), ranks=3, name="next") as run:
        assert restart(run) == 3
        check_read(run, 4, 2)
        run.finish()

# SPDX-License-Identifier: Apache-2.0
"""A wild pointer that hits the segment before its data ends the rank that has it, at the line that wrote, and nobody else."""
import json
import os
import signal
import struct

import h5py
import pytest
from leat_run import Run, data, same_bits, xml
from stored_blocks import stored_ranks

VARIABLES = '<layout name="row" type="double" dimensions="64"/><variable name="a" layout="row"/>'
STEERED = '<parameter name="dt" type="double" value="1"/>'
# Offsets in the header, as docs/design/segment.md has them.
HEADER = {"catalogue": 24, "lanes": 40, "stride": 48, "data": 56, "steering": 112, "leases": 120, "stores": 128}


def places(run):
    (segment,) = run.segments()
    with open(segment, "rb") as file:
        head = file.read(160)
    return {name: struct.unpack_from("<Q", head, offset)[0] for name, offset in HEADER.items()}


def part(run, what):
    """Offset and size of what rank 1 overwrites."""
    at = places(run)
    return {"header": (0, 160), "server's words": (192, 192), "all before the steering": (0, at["steering"]),
            "catalogue": (at["catalogue"], at["steering"] - at["catalogue"]), "stores": (at["stores"], 64),
            "leases": (at["leases"], at["lanes"] - at["leases"]), "lane of rank 0": (at["lanes"], at["stride"]),
            "lane of rank 2": (at["lanes"] + 2 * at["stride"], at["stride"])}[what]


@pytest.mark.parametrize("what", ["header", "server's words", "all before the steering", "catalogue", "stores", "leases",
                                  "lane of rank 0", "lane of rank 2"])
def test_a_wild_write_ends_the_rank_that_made_it_and_no_other(tmp_path, what):
    with Run(tmp_path, xml(VARIABLES + STEERED, timeout="5s"), ranks=3) as run:
        ranks = run.init()
        for iteration in range(3):
            for rank in ranks:
                assert rank.write("a", 512, 10 * rank.number + iteration).ok
                rank.end()
        ranks[1].start("scribble", *part(run, what))
        assert ranks[1].process.wait(20) == -signal.SIGSEGV, "the wild write is a fault of the one that wrote"
        others = [ranks[0], ranks[2]]
        for iteration in range(3, 6):
            for rank in others:
                assert rank.write("a", 512, 10 * rank.number + iteration).ok
                rank.end()
        assert all(answer.ok for answer in run.finalize(others))
        run.await_end()
        whole = json.loads((tmp_path / "run.ledger.json").read_text())
    assert whole["lost"] == 0 and whole["died"] == [{"rank": 1, "iteration": 3}]
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["leat/iteration_complete"][:].tolist() == [1, 1, 1, 0, 0, 0]
        for iteration in range(6):
            stored = stored_ranks(file, "a", iteration)
            for rank in (0, 1, 2) if iteration < 3 else (0, 2):
                assert same_bits(stored[rank], data(64, "f8", 10 * rank + iteration))


def test_a_server_that_takes_over_may_write_what_clients_may_not(tmp_path):
    with Run(tmp_path, xml(VARIABLES), ranks=2) as run:
        ranks = run.init()
        for iteration in range(6):
            if iteration == 3:
                os.kill(run.server(), signal.SIGKILL)
            for rank in ranks:
                assert rank.write("a", 512, 10 * rank.number + iteration).ok
                rank.end()
        run.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == list(range(6)) and file["leat/iteration_complete"][:].all()

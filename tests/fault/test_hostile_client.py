# SPDX-License-Identifier: Apache-2.0
"""A rank that writes garbage over its own part of the segment harms itself at most."""
import subprocess
import time

import h5py
import pytest
from leat_run import BUILD, LIMIT, Run, data, same_bits, xml
from stored_blocks import stored_ranks

ROW = '<layout name="row" type="int" dimensions="5"/><variable name="a" layout="row"/>'
ITERATIONS = 20


@pytest.mark.parametrize("seed", range(6))
def test_the_data_of_a_good_rank_beside_a_hostile_one_are_stored_or_said_to_be_lost(tmp_path, seed):
    with Run(tmp_path, xml(ROW, timeout="5s"), ranks=1) as run:
        good = run.ranks[0]
        hostile = subprocess.Popen([BUILD / "bin" / "hostile_client", run.config, run.session, "1", "2", str(seed), "600"],
                                   cwd=run.folder, env=run.environment)
        answer = good.call("init_ranks", run.config, run.session, 0, 2)
        assert answer.ok, answer
        server = run.server()
        for iteration in range(ITERATIONS):
            assert good.write("a", 20, iteration).ok
            good.end()
            time.sleep(0.02)
        assert run.servers() == [server], "leatd has crashed"
        hostile.wait(LIMIT)
        assert hostile.returncode == 0
        (end,) = run.finalize()
        assert end.status in ("LEAT_OK", "LEAT_ERROR_LOST"), end
        log = run.log()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:ITERATIONS].tolist() == list(range(ITERATIONS)), log
        for iteration in range(ITERATIONS):
            assert same_bits(stored_ranks(file, "a", iteration)[0], data(5, "i4", iteration)), log

# SPDX-License-Identifier: Apache-2.0
"""Values that a store on staging nodes packs."""
import h5py
import numpy as np
import staging_run
from staging_run import TWO, StagingRun, config, staged, step
from stored_blocks import stored_blocks


def test_stores_on_staging_nodes_pack_values_and_measure_the_error(tmp_path, monkeypatch):
    packed = '<variable name="q" expr="mod(own, 1000)/7" store-type="int16" scale="0.1" offset="3"/>'
    monkeypatch.setattr(staging_run, "DATA", staging_run.DATA + packed)
    with StagingRun(tmp_path, staged(config(4), 1), TWO, 1) as run:
        step(run.init(), range(6))
        run.finish()
    assert not run.warnings(), run.log()
    with h5py.File(tmp_path / "run.h5") as file:
        for row in range(6):
            own, found = stored_blocks(file, "own", row), stored_blocks(file, "q", row)
            assert own.keys() == found.keys() and len(own) == 8
            values = {owner: np.fmod(each.astype("f8"), 1000) / 7 for owner, each in own.items()}
            for owner, each in found.items():
                assert each.dtype == "i2" and np.array_equal(each, np.rint((values[owner] - 3) / 0.1)), (row, owner)
            largest = max(np.abs(each * 0.1 + 3 - values[owner]).max() for owner, each in found.items())
            assert max(np.ravel(each).max() for each in stored_blocks(file, "q_error", row).values()) == largest

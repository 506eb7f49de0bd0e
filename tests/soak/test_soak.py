# SPDX-License-Identifier: Apache-2.0
"""The soak, short: each scenario once. Nothing of it is decided by how long something took."""
import soak


def test_each_scenario_once(tmp_path):
    assert soak.main(["--minutes", "0", "--seed", "1", "--folder", str(tmp_path)]) == 0

# SPDX-License-Identifier: Apache-2.0
"""The soak, short: each scenario once. Nothing of it is decided by how long something took."""
import tempfile

import soak


def test_each_scenario_once():
    with tempfile.TemporaryDirectory(prefix="leat-") as folder:  # pytest's own has too long a path for sockets
        assert soak.main(["--minutes", "0", "--seed", "1", "--folder", folder]) == 0

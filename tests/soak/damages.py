# SPDX-License-Identifier: Apache-2.0
"""Files of the hdf5 store that are damaged anywhere: tests/plugins/test_damaged.py, with other dice."""
import test_damaged
from judge import Tally


def files_damaged(folder, chance):
    """A part of a view, a view, and the journal of a writer that was killed; what is wrong comes as an AssertionError."""
    folder.mkdir(parents=True)
    whole = test_damaged.written(folder / "whole")
    test_damaged.expect_the_other_part(whole, folder / "part", chance, chance.choice(test_damaged.KINDS))
    test_damaged.expect_the_same_view(whole, folder / "view", chance, chance.choice(test_damaged.KINDS))
    (folder / "journal").mkdir()
    test_damaged.expect_ends_over_journals(folder / "journal", chance.randrange(200, 440), chance,
                                           [chance.choice(test_damaged.KINDS) for _ in range(2)])
    return Tally(runs=3, kills=1)

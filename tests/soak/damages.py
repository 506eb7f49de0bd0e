# SPDX-License-Identifier: Apache-2.0
"""What is done to files of the hdf5 store at a few places in tests/plugins, and here anywhere. What is wrong comes as an
AssertionError."""
import test_append
import test_damaged
import test_many_variables
import test_split
from judge import Tally


def files_damaged(folder, chance):
    """A part of a view, a view, and the journal of a writer that was killed."""
    folder.mkdir(parents=True)
    whole = test_damaged.written(folder / "whole")
    test_damaged.expect_the_other_part(whole, folder / "part", chance, chance.choice(test_damaged.KINDS))
    test_damaged.expect_the_same_view(whole, folder / "view", chance, chance.choice(test_damaged.KINDS))
    (folder / "view/run.h5").write_bytes(test_damaged.damaged((whole / "run.h5").read_bytes(), chance, chance.choice(test_damaged.KINDS)))
    for words in (["ls", "run.h5"], ["xdmf", "run.h5"]):
        test_damaged.expect_end(*words, cwd=folder / "view")
    (folder / "journal").mkdir()
    test_damaged.expect_ends_over_journals(folder / "journal", chance.randrange(200, 440), chance,
                                           [chance.choice(test_damaged.KINDS) for _ in range(2)])
    return Tally(runs=3, kills=1)


def appender_killed(folder, chance):
    """A run that goes on in the file of an earlier one, killed at any of its calls that change something."""
    folder.mkdir(parents=True)
    kept, calls = test_append.made_six(folder)
    for _ in range(2):
        test_append.expect_old_or_new(folder, kept, chance.randint(1, calls))
        test_append.expect_the_next_goes_on(folder, kept, chance.randint(1, calls))
    return Tally(runs=4, kills=4, moments=4)


def many_variables(folder, chance):
    folder.mkdir(parents=True)
    test_many_variables.expect_stored(folder, 20_000)
    return Tally(runs=1, kills=1)


def splitter_killed(folder, chance):
    """A run that splits its output, and one that goes on in such an output, killed at any of their calls."""
    folder.mkdir(parents=True)
    six = test_split.made_six(folder)
    for expect in (test_split.expect_all_after_kills, test_split.expect_appended_after_kills):
        expect(folder / expect.__name__, six, chance, *chance.choice(test_split.CALLS))
    return Tally(runs=2, kills=6, moments=6)

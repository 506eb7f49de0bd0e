# SPDX-License-Identifier: Apache-2.0
"""leat_finalize waits as long as a store gets something done, be it within one iteration, and gives up when it does not."""
import h5py
from leat_run import BUILD, Run, data, same_bits, xml

ROW = '<layout name="row" type="int" dimensions="5"/><variable name="a" layout="row"/>'


def store(seconds, progress):
    return (f'<store name="slow" library="{BUILD}/lib/leat/test/slow.so">'
            f'<option name="seconds" value="{seconds}"/><option name="progress" value="{progress}"/></store>')


def one_iteration(run):
    (rank,) = run.init()
    assert rank.write("a", 20, 1).ok
    rank.end()
    return rank.call("finalize")


def test_a_store_that_works_on_one_iteration_for_longer_than_the_timeout_is_waited_for(tmp_path):
    with Run(tmp_path, xml(ROW, timeout="1s", store=store(3, "yes"))) as run:
        answer = one_iteration(run)
    assert answer.ok, answer


def test_a_store_that_hangs_is_waited_for_no_longer_than_the_timeout(tmp_path):
    with Run(tmp_path, xml(ROW, timeout="300ms", store=store(600, "no"))) as run:
        answer = one_iteration(run)
        (tmp_path / "go-on").touch()
    assert answer.status == "LEAT_ERROR_TIMEOUT" and "no progress" in answer.error


def test_the_hdf5_store_says_what_it_gets_done_within_an_iteration(tmp_path):
    """Compressing these takes seconds, and no piece of it a tenth of the timeout, unless the machine has no time at all."""
    megabytes = 48
    layout = f'<layout name="big" type="double" dimensions="{megabytes},131072"/><variable name="big" layout="big"/>'
    hdf5 = '<store name="out" type="hdf5" compression="deflate:9"/>'
    with Run(tmp_path, xml(layout, buffer="128MiB", timeout="1s", store=hdf5)) as run:
        (rank,) = run.init()
        assert rank.write("big", megabytes << 20, 7).ok
        rank.end()
        answer = rank.call("finalize")
    assert answer.ok, answer
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(file["big"][0].reshape(-1), data(megabytes << 17, "f8", 7))

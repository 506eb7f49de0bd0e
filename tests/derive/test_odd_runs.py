# SPDX-License-Identifier: Apache-2.0
"""What those who attacked it from outside have found, and what nobody does on purpose."""
import os
import signal
import subprocess
import time

import h5py
import numpy as np
import pytest
from arrays_run import write_arrays
from derived_run import fields, run, stored
from leat_run import BUILD, same_bits, xml

LINE = """<parameter name="t" type="double"/><parameter name="k" type="double"/><layout name="line" type="double" dimensions="?" names="x"/>
<layout name="two" type="double" dimensions="2" names="x"/><variable name="u" layout="two"/><variable name="v" layout="two"/>"""
TIME = '<time parameter="t" unit="s"/>'


def test_blocks_with_nothing_in_them_make_blocks_with_nothing_in_them(tmp_path):
    data = """<layout name="line" type="double" dimensions="?" names="x"/><variable name="u" layout="line"/>
              <variable name="double" expr="2*u"/><variable name="mean" expr="u" operation="mean" every="3"/>"""
    arrays = {("u", i): np.arange(float(n)) for i, n in enumerate((2, 0, 1, 0, 0, 0))}
    write_arrays(tmp_path, xml(data), [arrays])
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["double"][:].tolist() == [0, 2, 0]


def test_a_server_that_is_killed_in_the_first_iteration_begins_as_one_that_was_not(tmp_path):
    """Iteration 0 is the state at time 0: it is due, and in no period; also to the server that is given it again."""
    derived = '<variable name="e" expr="u" every="1 s"/><variable name="m" expr="u" operation="mean" every="1 s"/>'
    whole, times = fields(9), 0.25 * np.arange(9)

    def kill(its_run, iteration):
        if iteration == 0:
            for server in its_run.servers():
                os.kill(server, signal.SIGKILL)

    for delay in (0, 0.003, 0.01, 0.02):
        folder = tmp_path / str(delay)
        folder.mkdir()
        run(folder, derived, whole, 2, times=times, after=lambda *its, delay=delay: (time.sleep(delay), kill(*its)))
        with h5py.File(folder / "run-every-1s.h5") as file:
            assert file["iteration"][:].tolist() == [0, 4, 8]
        with h5py.File(folder / "run-over-1s.h5") as file:
            assert file["time_bnds"][:].tolist() == [[0, 1], [1, 2]]
            part = whole["u"][1:5]
            assert same_bits(file["m"][0], (part[0] + part[1] + part[2] + part[3]) / 4)


def test_a_mean_of_means_weighs_each_as_long_as_its_period(tmp_path):
    derived = """<variable name="a" expr="u" operation="mean" every="1 s"/><variable name="b" expr="a" operation="mean" every="2 s"/>"""
    arrays = {("u", i): np.full(2, 1.0 if i < 5 else 5.0) for i in range(9)} | {("=t", i): np.array(0.25 * i) for i in range(9)}
    arrays |= {("v", 0): np.zeros(2)}
    write_arrays(tmp_path, xml(LINE + TIME + derived), [arrays])
    with h5py.File(tmp_path / "run-over-2s.h5") as file:
        assert file["b"][0].tolist() == [3.0, 3.0] and file["time_bnds"][0].tolist() == [0.0, 2.0]


def test_a_time_that_is_no_number_or_goes_back_ends_no_period(tmp_path):
    times = [0.5, 1.0, np.nan, 2.0, 1.2, 1.6, 2.5, 3.0]
    arrays = {("u", i): np.full(2, 1.0 + i) for i in range(8)} | {("=t", i): np.array(t) for i, t in enumerate(times)}
    log = write_arrays(tmp_path, xml(LINE + TIME + '<variable name="m" expr="u" operation="mean" every="1 s"/>'), [arrays])
    with h5py.File(tmp_path / "run-over-1s.h5") as file:
        assert file["time_bnds"][:].tolist() == [[0.5, 1], [1, 2], [2, 3]]
        assert file["m"][:, 0].tolist() == [1.5, 4.0, 7.5]  # of 2 to 3 s: iterations 6 and 7, of half a second each
    assert "the simulation says no time" in log and "the time 1.2 does not come after 2" in log, log


def test_steps_longer_than_the_period_are_said(tmp_path):
    arrays = {("u", i): np.full(2, 1.0 + i) for i in range(4)} | {("=t", i): np.array(3.0 * i) for i in range(4)}
    log = write_arrays(tmp_path, xml(LINE + TIME + '<variable name="m" expr="u" operation="mean" every="1 s"/>'), [arrays])
    assert "goes over more than one period of every" in log, log


def test_least_and_greatest_of_large_integers_are_doubles(tmp_path):
    data = """<layout name="l" type="int64" dimensions="1"/><variable name="n" layout="l"/>
              <variable name="m" expr="n" operation="max" every="2"/>"""
    write_arrays(tmp_path, xml(data), [{("n", 0): np.array([2**53 + 1]), ("n", 1): np.array([7])}])
    assert stored(tmp_path, "m", "run-over-2.h5").dtype == "f8"


def test_a_parameter_without_a_value_is_said(tmp_path):
    log = write_arrays(tmp_path, xml(LINE + '<variable name="d" expr="k*u"/>'), [{("u", 0): np.ones(2)}])
    assert 'the parameter "k" in expr="k*u" has no value: all that is made of it is NaN' in log, log


@pytest.mark.parametrize("missing", ["u", "v"])
def test_a_rank_that_lacks_a_part_of_an_expression_is_said(tmp_path, missing):
    arrays = [{("u", 0): np.ones(2), ("v", 0): np.ones(2)} for _ in range(2)]
    del arrays[1][missing, 0]
    with pytest.raises(AssertionError, match=f'not made: rank 1 has no block 0 of "{missing}"'):
        write_arrays(tmp_path, xml(LINE + '<variable name="d" expr="u+v"/>'), arrays)


@pytest.mark.parametrize("wrong", ["0.5", "x", "0", "3 weeks", "1 h", "1 mo"])
def test_a_store_with_a_wrong_every_is_an_error_with_a_place(tmp_path, wrong):
    (tmp_path / "run.xml").write_text(xml(LINE, store=f'<store name="out" type="hdf5" every="{wrong}"/>'))
    done = subprocess.run([BUILD / "bin/leat", "check", "run.xml"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and 'error: store "out": every="' in done.stderr, done


@pytest.mark.parametrize("data", [
    '<layout name="a" type="double" dimensions="2" names="x"/><layout name="b" type="double" dimensions="2" names="y"/>',
    '<layout name="a" type="double" dimensions="2,2" names="y,x"/><layout name="b" type="double" dimensions="2,2" names="x,y"/>'])
def test_dimensions_of_other_names_do_not_go_together(tmp_path, data):
    (tmp_path / "run.xml").write_text(xml(data + """<variable name="p" layout="a"/><variable name="q" layout="b"/>
                                          <variable name="r" expr="p+q"/>"""))
    done = subprocess.run([BUILD / "bin/leat", "check", "run.xml"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and "do not go together" in done.stderr, done

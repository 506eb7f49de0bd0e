# SPDX-License-Identifier: Apache-2.0
"""every="last" and every="run": what is told when the run is over, and <field>s of stores."""
import os
import signal
import subprocess

import h5py
import numpy as np
import pytest
import test_coordinates
from arrays_run import write_arrays
from derived_run import fields, run, stored
from leat_run import BUILD, Run, data, same_bits, xml
from test_restart import part_of_run

LAST = """<variable name="u_last" expr="u" every="last"/><variable name="twice" expr="2*u" select="y=3" every="last" unit="K"/>
<variable name="n_last" expr="n" every="last"/>"""
RUN = '<variable name="u_mean" expr="u" operation="mean" every="run"/><variable name="u_max" expr="u" operation="max" every="run"/>'


def check_last(folder, whole, iteration, time=None):
    with h5py.File(folder / "run-last.h5") as file:
        assert file["u_last"].shape == (1, *whole["u"].shape[1:]) and file["n_last"].dtype == "i4"
        assert same_bits(file["u_last"][0], whole["u"][iteration]) and same_bits(file["twice"][0], 2 * whole["u"][iteration][3])
        assert same_bits(file["n_last"][0], whole["n"][iteration])
        assert file["iteration"][:].tolist() == [iteration]
        name = "iteration" if time is None else "time"
        assert file[name][:].tolist() == [iteration if time is None else time]
        assert file["u_last"].attrs["cell_methods"].decode() == f"{name}: point"


@pytest.mark.parametrize("ranks, servers", [(1, 1), (2, 1), (4, 2)])
def test_the_last_iteration_and_the_whole_run(tmp_path, ranks, servers):
    whole, times = fields(7), np.array([0.5, 1.0, 2.5, 3.0, 4.5, 5.0, 5.5])
    log = run(tmp_path, LAST + RUN, whole, ranks, times, cores=f'{servers}" servers="{servers}')
    check_last(tmp_path, whole, 6, 5.5)
    with h5py.File(tmp_path / "run-over-run.h5") as file:
        assert same_bits(file["u_max"][0], whole["u"].max(axis=0)) and len(file["u_max"]) == 1
        steps = np.array([1.0, *np.diff(times) / 0.5])  # the first one stands for as much as the others are usually long
        expected = sum(w * each for w, each in zip(steps, whole["u"])) / steps.sum()
        np.testing.assert_allclose(file["u_mean"][0], expected, rtol=1e-13)
        assert file["time_bnds"][0].tolist() == [0.5, 5.5] and file["u_mean"].attrs["cell_methods"] == b"time: mean"
    assert same_bits(stored(tmp_path, "u"), whole["u"]) and "NOT" not in log, log


def test_without_a_time_rows_have_iterations(tmp_path):
    whole = fields(5)
    run(tmp_path, LAST + RUN, whole)
    check_last(tmp_path, whole, 4)
    with h5py.File(tmp_path / "run-over-run.h5") as file:
        assert file["iteration_bnds"][:].tolist() == [[0, 4]]
        assert same_bits(file["u_max"][0], whole["u"].max(axis=0))


def test_of_a_store_that_has_nothing_else_the_name_is_as_it_says(tmp_path):
    whole = fields(3)
    run(tmp_path, '<variable name="u_last" expr="u" every="last" store="end"/>', whole,
        store='<store name="out" type="hdf5"/><store name="end" type="hdf5" file="end.h5" every="2"/>')
    assert same_bits(stored(tmp_path, "u_last", "end.h5")[0], whole["u"][2])


@pytest.mark.parametrize("moment", [3, 7])
def test_a_server_that_is_killed_is_followed_by_one_that_has_the_same(tmp_path, moment):
    """In the midst of the run; and behind the last iteration, when that is stored and the end is not."""
    whole, times = fields(8), np.arange(8) + 1.0

    def kill(run, iteration):
        if iteration == moment:
            for server in run.servers():
                os.kill(server, signal.SIGKILL)

    run(tmp_path, LAST + RUN, whole, 2, times, after=kill, sync=True)
    check_last(tmp_path, whole, 7, 8.0)
    with h5py.File(tmp_path / "run-over-run.h5") as file:
        assert same_bits(file["u_max"][0], whole["u"].max(axis=0)) and len(file["u_max"]) == 1
        assert file["time_bnds"][0].tolist() == [1.0, 8.0]


@pytest.mark.parametrize("cuts", [[4], [2, 3]])
def test_a_run_that_goes_on_has_one_row_of_its_own_end(tmp_path, cuts):
    whole, times = fields(9), np.cumsum(np.full(9, 0.5))
    for name, parts in (("one", [0, 9]), ("parts", [0, *cuts, 9])):
        (tmp_path / name).mkdir()
        for first, last in zip(parts, parts[1:]):
            part_of_run(tmp_path / name, whole, times, first, last, derived=LAST + RUN)
    check_last(tmp_path / "parts", whole, 8, 4.5)
    with h5py.File(tmp_path / "one" / "run-over-run.h5") as one, h5py.File(tmp_path / "parts" / "run-over-run.h5") as parts:
        for name in ("u_mean", "u_max", "time_bnds", "time", "iteration"):
            assert same_bits(one[name][:], parts[name][:]), name


FIELDS = """<store name="out" type="hdf5"/>
<store name="small" type="hdf5" file="small.h5">
  <field ref="u"/>
  <field ref="u" operation="mean" every="2"/>
  <field ref="v" name="v_row" select="y=2" store-type="float"/>
  <field ref="more"/>
</store>"""


def test_a_store_says_which_fields_it_takes_of_those_that_are_declared_once(tmp_path):
    whole = fields(4)
    derived = """<group name="more" store="none"><variable name="a" expr="u+1"/><variable name="b" expr="v-1"/></group>
      <variable name="free" expr="u"/>"""
    run(tmp_path, derived, whole, store=FIELDS)
    with h5py.File(tmp_path / "small.h5") as file:
        assert {"u", "v_row", "more"} <= set(file) and not {"v", "free", "n", "u_mean"} & set(file)
        assert same_bits(file["u"][:], whole["u"]) and same_bits(file["v_row"][:], whole["v"][:, 2].astype("f4"))
        assert same_bits(file["more/a"][:], whole["u"] + 1) and same_bits(file["more/b"][:], whole["v"] - 1)
    assert same_bits(stored(tmp_path, "u_mean", "small-over-2.h5"), (whole["u"][::2] + whole["u"][1::2]) / 2)
    with h5py.File(tmp_path / "run.h5") as file:
        assert {"u", "v", "n", "free"} <= set(file) and not {"v_row", "more"} & set(file)


def test_of_a_run_that_is_killed_as_a_whole_the_end_is_that_of_its_last_whole_iteration(tmp_path):
    made = xml('<layout name="row" type="double" dimensions="5" global="5" names="x"/><variable name="u" layout="row"/>'
               '<variable name="u_last" expr="u" every="last"/><variable name="u_sum" expr="u" operation="accumulate" every="run"/>')
    with Run(tmp_path, made, ranks=1) as run:
        (rank,) = run.init()
        for iteration in range(4):
            if iteration == 2:
                os.kill(run.server(), signal.SIGSTOP)
            assert rank.write("u", 40, iteration).ok
            rank.end()
        assert rank.write("u", 40, 4).ok  # of an iteration that nobody has ended
        run.kill_all()
        done = subprocess.run([BUILD / "bin/leat", "recover", run.session], cwd=run.folder, env=run.environment, capture_output=True,
                              text=True, timeout=60, check=False)
        assert done.returncode in (0, 3), done.stdout + done.stderr
    values = [data(5, "f8", iteration) for iteration in range(5)]
    rows = stored(tmp_path, "iteration").tolist()
    assert rows[:4] == [0, 1, 2, 3]
    last = rows[-1]
    assert same_bits(stored(tmp_path, "u_last", "run-last.h5")[0], values[last])
    np.testing.assert_allclose(stored(tmp_path, "u_sum", "run-over-run.h5")[0], np.sum(values[:last + 1], axis=0), rtol=1e-13)


def test_a_value_that_came_before_the_last_iteration_is_said_to_be_of_that(tmp_path):
    made = xml('<layout name="row" type="double" dimensions="5" global="5" names="x"/><variable name="u" layout="row"/>'
               '<variable name="w" layout="row"/><variable name="u_last" expr="u" every="last"/>'
               '<variable name="w_last" expr="w" every="last"/>')
    with Run(tmp_path, made, ranks=1) as run:
        (rank,) = run.init()
        for iteration in range(4):
            assert rank.write("u", 40, iteration).ok and (iteration > 1 or rank.write("w", 40, 10 + iteration).ok)
            rank.end()
        run.finish()
        run.await_end()
        log = run.log()
    assert same_bits(stored(tmp_path, "w_last", "run-last.h5")[0], data(5, "f8", 11))
    assert same_bits(stored(tmp_path, "u_last", "run-last.h5")[0], data(5, "f8", 3))
    assert '"w_last" (run.xml:' in log and "u_last" not in log, log
    assert "there is a value of iteration 1 in the row of the last one, 3" in log, log


def test_a_run_that_goes_on_and_whose_server_is_killed_at_the_end_has_its_parameters(tmp_path):
    """The next server has had no iteration, and the file wants values of all parameters that ranks set."""
    whole, times = fields(6), np.arange(6) + 1.0
    part_of_run(tmp_path, whole, times, 0, 3, derived=LAST)

    def kill(run, iteration):
        if iteration == 5:
            for server in run.servers():
                os.kill(server, signal.SIGKILL)

    part_of_run(tmp_path, whole, times, 3, 6, derived=LAST, after=kill)
    check_last(tmp_path, whole, 5, 6.0)


def test_coordinates_go_with_the_fields_of_a_store(tmp_path):
    made = xml("""<mesh name="grid" type="rectilinear" coordinates="cx"/>
      <layout name="row" type="double" dimensions="5" global="5" names="x"/>
      <layout name="line" type="double" dimensions="5" names="x"/><variable name="cx" layout="line" time-varying="false"/>
      <variable name="u" layout="row" mesh="grid"/><variable name="v" layout="row"/>""",
               store='<store name="out" type="hdf5"/><store name="small" type="hdf5" file="small.h5"><field ref="u"/></store>')
    with Run(tmp_path, made, ranks=1) as run:
        (rank,) = run.init()
        for iteration in range(2):
            assert rank.write("u", 40, iteration).ok and rank.write("v", 40, iteration).ok and (iteration or rank.write("cx", 40, 9).ok)
            rank.end()
        run.finish()
        run.await_end()
        assert "never written" not in run.log(), run.log()
    with h5py.File(tmp_path / "small.h5") as file:
        assert same_bits(file["cx"][:], data(5, "f8", 9)) and "u" in file and "v" not in file


def test_the_end_of_a_value_that_has_gone_to_another_server_is_one_row(tmp_path):
    """Of a run that goes on: the server that had it at the end of the run before has a row of that still."""
    whole = fields(6)
    columns = [11, 10, 9, 2, 1, 0]
    derived = """<variable name="at" expr="u" select="x=iy, y=1" store="none"/><variable name="at_last" expr="at" every="last"/>
      <variable name="at_sum" expr="at" operation="accumulate" every="run"/>"""
    made = test_coordinates.text(derived, 4, cores='2" servers="2', store='<store name="out" type="hdf5" append="true"/>')
    for first, last in ((0, 3), (3, 6)):
        ranks = test_coordinates.by_rank(whole, 4, parameters={("iy", i): at for i, at in enumerate(columns)})
        for each in ranks:
            for key in [key for key in each if key[1] != "position" and (key[0] in "uv=iy") and not first <= key[1] < last]:
                del each[key]
            if first:
                each["run", "start"] = np.array(first)
        write_arrays(tmp_path, made, ranks)
    values = [whole["u"][i, 1, at] for i, at in enumerate(columns)]
    assert stored(tmp_path, "iteration", "run-last.h5").tolist() == [5]
    assert stored(tmp_path, "at_last", "run-last.h5").tolist() == [values[5]]
    np.testing.assert_allclose(stored(tmp_path, "at_sum", "run-over-run.h5"), [sum(values)], rtol=1e-13)

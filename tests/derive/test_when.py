# SPDX-License-Identifier: Apache-2.0
"""when="max(T) > 1000", and `every` of what ranks write: which iterations are in which file."""
import json
import subprocess

import h5py
import numpy as np
import pytest
from derived_run import fields, run, stored, text
from leat_run import BUILD, Run, data, same_bits, xml


def stepped(iterations=10):
    """max(u) is the number of the iteration, in one place."""
    whole = fields(iterations)
    whole["u"] = np.minimum(whole["u"], 0)
    for i in range(iterations):
        whole["u"][i, i % 7, (5 * i) % 12] = i
    return whole


def rows(folder, file):
    with h5py.File(folder / file) as opened:
        return opened["iteration"][:].tolist()


@pytest.mark.parametrize("servers", [1, 2])
def test_a_store_takes_iterations_in_which_it_holds_on_all_servers(tmp_path, servers):
    whole = stepped()
    stores = '<store name="out" type="hdf5" when="max(u) &gt; 3 &amp;&amp; max(u) != 6"/>'
    log = run(tmp_path, "", whole, 2, store=stores, cores=f'{servers}" servers="{servers}')
    wanted = [4, 5, 7, 8, 9]
    assert rows(tmp_path, "run.h5") == wanted, log
    assert same_bits(stored(tmp_path, "v"), whole["v"][wanted])


def test_variables_and_groups_with_every_and_parameters(tmp_path):
    whole = stepped()
    run(tmp_path, """<variable name="hot" expr="u" when="max(u) &gt;= k"/>
        <variable name="top" expr="u" reduce="max"/><variable name="low" expr="u" when="top &lt; 4" every="2"/>
        <group name="seldom" layout="cells" every="5"><variable name="double" expr="2*u"/></group>""", whole, 2, times=np.arange(10.0))
    assert rows(tmp_path, "run-when-max-u-ge-k.h5") == [3, 4, 5, 6, 7, 8, 9]
    assert same_bits(stored(tmp_path, "hot", "run-when-max-u-ge-k.h5"), whole["u"][3:])
    assert rows(tmp_path, "run-every-2-when-top-lt-4.h5") == [0, 2]
    assert same_bits(stored(tmp_path, "seldom/double", "run-every-5.h5"), 2 * whole["u"][::5])
    assert same_bits(stored(tmp_path, "top"), np.arange(10.0))


def test_when_of_a_store_holds_for_variables_with_their_own_every(tmp_path):
    whole = stepped()
    run(tmp_path, """<variable name="third" expr="u" every="3"/><variable name="both" expr="u" every="2" when="max(u) &lt; 8"/>
        <variable name="mean" expr="u" operation="mean" every="5"/>""", whole, 2,
        store='<store name="out" type="hdf5" when="max(u) &gt; 3"/>')
    assert rows(tmp_path, "run.h5") == [4, 5, 6, 7, 8, 9]
    assert rows(tmp_path, "run-every-3.h5") == [6, 9]
    assert same_bits(stored(tmp_path, "third", "run-every-3.h5"), whole["u"][6::3])
    assert rows(tmp_path, "run-every-2-when-max-u-lt-8.h5") == [4, 6]
    assert rows(tmp_path, "run-over-5.h5") == [4, 9]  # what is over a period has a row for each


def test_every_of_what_ranks_write(tmp_path):
    whole = fields(10)
    more = '<variable name="w" layout="cells" every="3" store="out"/><variable name="w_mean" expr="w" operation="mean" every="2"/>'
    log = run(tmp_path, more, {**whole, "w": whole["u"] * 3}, 2)
    assert "not written" not in log, log
    assert rows(tmp_path, "run.h5") == list(range(10)) and rows(tmp_path, "run-every-3.h5") == [0, 3, 6, 9]
    assert same_bits(stored(tmp_path, "w", "run-every-3.h5"), 3 * whole["u"][::3])
    w = 3 * whole["u"]
    assert same_bits(stored(tmp_path, "w_mean", "run-over-2.h5"), (w[::2] + w[1::2]) / 2)  # what is made of it has each
    with h5py.File(tmp_path / "run.h5") as file:
        assert "w" not in file


def test_every_of_what_ranks_write_in_other_stores_and_by_time(tmp_path):
    whole = fields(10)
    stores = '<store name="out" type="hdf5"/><store name="bytes" type="raw"/>'
    run(tmp_path, '<variable name="w" layout="cells" every="0.5 s" store="bytes, out"/><variable name="r" layout="cells" store="bytes"/>',
        {**whole, "w": whole["u"], "r": whole["v"]}, 2, times=np.arange(10) * 0.2, store=stores)
    marks = [0, 3, 5, 8]  # 0, 0.6, 1.0, 1.6
    assert rows(tmp_path, "run-every-0.5s.h5") == marks
    _, *index = (json.loads(line) for line in (tmp_path / "run.raw" / "index.jsonl").read_text().splitlines())
    has = {name: [each["iteration"] for each in index if any(block["variable"] == name for block in each["blocks"])] for name in "wr"}
    assert has == {"w": marks, "r": list(range(10))}


def test_events_stand_in_conditions(tmp_path):
    events = '<actions><event name="crack" scope="node"/><event name="other" scope="node"/></actions>'
    derived = '<variable name="broken" expr="w" when="crack"/><variable name="alone" expr="w" when="crack &amp;&amp; other == 0"/>'
    config = xml(f'<layout name="line" type="int" dimensions="4" names="x"/><variable name="w" layout="line"/>{derived}', log=events)
    with Run(tmp_path, config) as run:
        (rank,) = run.init()
        for i in range(10):
            assert rank.write("w", 16, i).ok
            for name in ["crack"] * (i in (2, 5)) + ["other"] * (i in (5, 7)):
                rank.must("signal", name)
            rank.end()
        run.finish()
    for name, file, wanted in (("broken", "run-when-crack.h5", [2, 5]), ("alone", "run-when-crack-and-other-eq-0.h5", [2])):
        assert rows(tmp_path, file) == wanted
        assert [row.reshape(-1).tolist() for row in stored(tmp_path, name, file)] == [data(4, "i4", i).tolist() for i in wanted]


@pytest.mark.parametrize("name, said", [
    ("hot", '"hot" is u in each iteration, if max(u) > k, as float64 in m/s'),
    ("seldom", '"seldom" is the mean of v along y, x over all ranks, in iterations 0, 2, 4, ..., if max(u) > k, as float64'),
    ("w", 'goes to store "bytes" (raw) in iterations 0, 3, 6, ...'),
    ("some", 'takes its variables in each iteration, if max(u) > 3')])
def test_leat_check_explains_them(tmp_path, name, said):
    more = """<variable name="hot" expr="u" when="max(u) &gt; k" store="out"/><variable name="w" layout="cells" every="3" store="bytes"/>
              <variable name="seldom" expr="v" reduce="mean(y, x)" every="2" when="max(u) &gt; k" store="out"/>"""
    stores = '<store name="out" type="hdf5"/><store name="bytes" type="raw"/><store name="some" type="trace" when="max(u) &gt; 3"/>'
    (tmp_path / "run.xml").write_text(text(more, 2, store=stores))
    explained = subprocess.run([BUILD / "bin/leat", "check", tmp_path / "run.xml", "--explain", name], capture_output=True, text=True)
    assert said in explained.stdout, (explained.stdout, explained.stderr)
    whole = subprocess.run([BUILD / "bin/leat", "check", tmp_path / "run.xml"], capture_output=True, text=True)
    assert "iterations when max(u) > 3" in whole.stdout, whole


@pytest.mark.parametrize("more, said", [
    ('<variable name="part" expr="u" when="u &gt; 3"/>', "write max(u)"),
    ('<variable name="part" expr="u" when="max(uu) &gt; 3"/>', 'did you mean "u"'),
    ('<variable name="part" expr="u" when="maxi(u) &gt; 3"/>', 'did you mean "max"'),
    ('<variable name="part" expr="u" when="max(u &gt; 3"/>', "a parenthesis has no end"),
    ('<variable name="part" expr="u" operation="mean" every="3" when="max(u) &gt; 3"/>', "over whole periods"),
    ('<variable name="part" expr="u" reduce="max" when="part &gt; 3"/>', "made of itself"),
    ('<variable name="w" layout="cells" time-varying="false" every="3"/>', "written once: take every away")])
def test_what_makes_no_sense_is_refused(tmp_path, more, said):
    (tmp_path / "run.xml").write_text(text(more, 2))
    done = subprocess.run([BUILD / "bin/leat", "check", tmp_path / "run.xml"], capture_output=True, text=True)
    assert done.returncode != 0 and said in done.stderr + done.stdout, (done.stdout, done.stderr)


@pytest.mark.parametrize("level, there", [("", {"u", "v", "fine", "g/sum", "g/finest"}), ("5", {"u", "v", "fine", "g/sum"}),
                                          ("1", {"u", "v"})])
def test_a_store_takes_variables_up_to_its_level(tmp_path, level, there):
    whole = fields(2)
    more = """<variable name="fine" expr="2*u" level="2"/>
      <group name="g" level="5"><variable name="sum" expr="u+v"/><variable name="finest" expr="u-v" level="6"/></group>
      <variable name="elsewhere" expr="u" level="9" store="all"/>"""
    said = f'level="{level}"' if level else ""
    run(tmp_path, more, whole, 2, store=f'<store name="out" type="hdf5" {said}/><store name="all" type="hdf5" file="all.h5" level="9"/>')
    with h5py.File(tmp_path / "run.h5") as file:
        assert {name for name in ("u", "v", "fine", "g/sum", "g/finest", "elsewhere") if name in file} - {"elsewhere"} == there
    assert same_bits(stored(tmp_path, "elsewhere", "all.h5"), whole["u"])

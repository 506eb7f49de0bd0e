# SPDX-License-Identifier: Apache-2.0
"""Scripts at events."""
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

from leat_run import BUILD, Run, xml

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "scripts"))
from script_run import ROW, SIZE, put, rows  # noqa: E402
from without_xarray import without_xarray  # noqa: F401


def config(events, folder='when-slow="wait"', **others):
    return xml(ROW, log=f'<scripts interpreter="{sys.executable}"><folder path="analysis" {folder}/></scripts>'
                        f"<actions>{events}</actions>", **others)


def step(ranks, iteration, signals=()):
    for rank in ranks:
        assert rank.write("a", SIZE, iteration).ok
        for number, event in signals:
            if number == rank.number:
                rank.must("signal", event)
        rank.end()


NOTE = """
    import leat

    @leat.on_event("x", "y")
    def note(ds, ctx):
        ctx.log("called", ctx.iteration, sorted(ds), [(e.name, e.rank, e.times) for e in ctx.events])
"""


def calls(run):
    return [line.split(': called ')[1] for line in run.log().splitlines() if ": called " in line]


def test_a_function_is_called_once_with_each_iteration_in_which_its_event_happens(tmp_path):
    put(tmp_path, "s", NOTE)
    with Run(tmp_path, config('<event name="x"/><event name="y" scope="node"/><event name="z"/>'), ranks=2) as run:
        ranks = run.init()
        step(ranks, 0)
        step(ranks, 1, [(0, "x"), (0, "x"), (1, "x")])
        step(ranks, 2, [(0, "z"), (1, "y")])
        step(ranks, 3, [(0, "y")])
        run.finish()
    assert calls(run) == ["1 ['a'] [('x', 0, 2), ('x', 1, 1)]", "3 ['a'] [('y', None, 1)]"]


def test_an_event_without_data_calls_what_asks_for_none(tmp_path):
    put(tmp_path, "s", NOTE + '''
    @leat.on_event("x", variables=["a"])
    def wants_data(ds, ctx):
        ctx.log("with data", ctx.iteration)
    ''')
    with Run(tmp_path, config('<event name="x"/><event name="y"/>')) as run:
        (rank,) = run.init()
        rank.must("signal", "x")
        rank.end()
        step([rank], 1, [(0, "x")])
        run.finish()
    assert calls(run) == ["0 [] [('x', 0, 1)]", "1 ['a'] [('x', 0, 1)]"]
    assert "with data 1" in run.log() and "with data 0" not in run.log()


def test_a_script_that_an_event_names_is_called_only_where_it_happens(tmp_path):
    for name in ("named", "other"):
        put(tmp_path, name, '''
            def process(ds, ctx):
                ctx.scalar("sum", float(ds["a"].sum()))
        ''')
    with Run(tmp_path, config('<event name="x" script="named"/>')) as run:
        ranks = run.init()
        for i in range(6):
            step(ranks, i, [(0, "x")] if i in (1, 4) else [])
        run.finish()
    assert [row["iteration"] for row in rows(tmp_path, "named")] == ["1", "4"]
    assert [row["iteration"] for row in rows(tmp_path, "other")] == ["0", "1", "2", "3", "4", "5"]


def test_a_slow_script_leaves_out_no_iteration_with_its_event(tmp_path):
    put(tmp_path, "s", textwrap.dedent(NOTE) + textwrap.dedent('''
        @leat.on_iteration()
        def slow(ds, ctx):
            import os, time
            while not os.path.exists("go"):
                time.sleep(0.005)
    '''))
    with Run(tmp_path, config('<event name="x"/><event name="y"/>', 'when-slow="skip"')) as run:
        (rank,) = run.init()
        step([rank], 0)
        for i in range(1, 20):
            step([rank], i, [(0, "x")] if i % 5 == 0 else [])
        time.sleep(0.3)
        (tmp_path / "go").touch()
        run.finish()
    assert [int(line.split()[0]) for line in calls(run)] == [5, 10, 15]


def test_a_name_that_the_xml_does_not_have_is_said_by_the_run_and_by_leat_check(tmp_path):
    put(tmp_path, "s", NOTE)
    with Run(tmp_path, config('<event name="xx"/><event name="y"/>')) as run:
        step(run.init(), 0)
        run.finalize()
        assert 'there is no event "x" in the XML; did you mean "xx"?' in run.log()
    checked = subprocess.run([BUILD / "bin/leat", "check", "run.xml"], cwd=tmp_path, capture_output=True, text=True)
    assert checked.returncode == 1 and 'there is no event "x"' in checked.stdout + checked.stderr
    (tmp_path / "run.xml").write_text(config('<event name="x" script="nobody"/><event name="y"/>'))
    checked = subprocess.run([BUILD / "bin/leat", "check", "run.xml"], cwd=tmp_path, capture_output=True, text=True)
    assert checked.returncode == 1 and 'is for the script "nobody", which is not there' in checked.stdout + checked.stderr


def test_leat_check_shows_who_is_called_when(tmp_path):
    put(tmp_path, "s", NOTE)
    (tmp_path / "run.xml").write_text(config('<event name="x" store="out"/><event name="y" scope="node"/>'))
    checked = subprocess.run([BUILD / "bin/leat", "check", "run.xml"], cwd=tmp_path, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    for words in ("iterations with x", "every iteration with x or y", "scripts that ask for it"):
        assert words in checked.stdout


def test_events_reach_scripts_of_the_next_server(tmp_path):
    put(tmp_path, "s", NOTE)
    with Run(tmp_path, config('<event name="x"/><event name="y"/>'), ranks=2) as run:
        a, b = run.init()
        step([a], 0, [(0, "x")])
        time.sleep(0.3)
        os.kill(run.server(), signal.SIGKILL)
        step([b], 0)
        run.finish()
    assert calls(run) == ["0 ['a'] [('x', 0, 1)]"]


def test_a_script_for_damaris_that_an_event_names_runs_only_where_it_happens(tmp_path):
    (tmp_path / "old.py").write_text('open("ran.txt", "a").write(str(DamarisData["iteration_data"]["iteration"]) + "\\n")\n')
    text = xml(ROW, log=f'<scripts interpreter="{sys.executable}"><script file="old.py" form="damaris" variables="a" when-slow="wait"/>'
                        '</scripts><actions><event name="x" script="old"/></actions>')
    with Run(tmp_path, text) as run:
        ranks = run.init()
        for i in range(5):
            step(ranks, i, [(0, "x")] if i in (1, 3) else [])
        run.finish()
    assert (tmp_path / "ran.txt").read_text() == "1\n3\n", run.log()

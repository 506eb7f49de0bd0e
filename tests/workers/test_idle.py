# SPDX-License-Identifier: Apache-2.0
"""Plugins that run in processes of their own, runs="idle": what they make, and what becomes of it when processes die."""
import contextlib
import json
import os
import signal
import subprocess
import threading
import time

import numpy as np
import pytest
from arrays_run import products, write_arrays
from control_run import wait_until
from leat_run import BUILD, LIMIT, Run, await_death, data, same_bits, xml
from worker_run import OUT, ROW, WAIT, chunks, stored, sums, workers, write


def lost_in(folder):
    entries = json.loads((folder / "run.ledger.json").read_text())["entries"]
    spans = [entry["iterations"] for entry in entries if entry["fate"] == "failed"]
    return sorted(i for first, last, step in spans for i in range(first, last + 1, step))


@pytest.mark.parametrize("attributes, environment", [('runs="idle"', {}), ('runs="server"', {"LEAT_RUNS": "idle"})])
def test_it_runs_in_a_process_of_its_own_in_the_time_that_nobody_wants(tmp_path, attributes, environment):
    with Run(tmp_path, xml(ROW, store=OUT + chunks(f"{attributes} {WAIT}")), environment=environment) as run:
        run.init()
        server = run.server()
        write(run, range(5))
        run.finish()
    found, iterations = products(tmp_path, "pieces")
    assert iterations == list(range(5)) == stored(tmp_path)
    assert found["sum"].tolist() == sums(range(5))
    assert found["idle"].tolist() == [8] * 5 and found["parent"].tolist() == [server] * 5
    assert run.log().count("opened first") == 1


def test_what_the_environment_says_comes_before_the_xml(tmp_path):
    with Run(tmp_path, xml(ROW, store=OUT + chunks()), environment={"LEAT_RUNS": "server"}) as run:
        run.init()
        write(run, range(3))
        run.finish()
    found, _ = products(tmp_path, "pieces")
    assert found["sum"].tolist() == sums(range(3)) and found["idle"].tolist() == [0] * 3


def every_analysis(attributes):
    box = '<option name="box" value="10,12,9"/>'
    return OUT + "".join(f'<store name="{kind}" type="{kind}" {attributes}>{options}</store>' for kind, options in (
        ("statistics", ""), ("histogram", '<option name="bins" value="37"/>'),
        ("radial", f'<option name="rmax" value="3"/>{box}'), ("bonds", f'<option name="cutoff" value="0.8"/>{box}')))


def all_products(folder, stores):
    found = {}
    for store in stores:
        for name, array in products(folder, store)[0].items():
            found[store, name] = array
    return found


def test_what_it_makes_is_bit_for_bit_what_it_makes_on_the_server(tmp_path):
    chance = np.random.default_rng(3)
    layout = '<layout name="p" type="double" dimensions="?,3"/><variable name="x" layout="p" unit="nm"/>'
    ranks = [{("x", i): chance.uniform(0, 9, (700 + 90000 * rank * (i == 1), 3)) if i != 1 or rank else np.empty((0, 3))
              for i in range(3)} for rank in range(2)]
    ranks[1]["x", 1] = ranks[1]["x", 1][:3000]
    found = []
    for name, attributes in (("server", ""), ("idle", f'runs="idle" {WAIT}')):
        (tmp_path / name).mkdir()
        write_arrays(tmp_path / name, xml(layout, store=every_analysis(attributes), buffer="64MiB"), ranks)
        found.append(all_products(tmp_path / name, ("statistics", "histogram", "radial", "bonds")))
    assert found[0].keys() == found[1].keys() and len(found[0]) > 15
    for name, array in found[0].items():
        assert same_bits(array, found[1][name]), name


def test_what_a_store_of_the_run_keeps_stays_on_the_server(tmp_path):
    text = xml(ROW, store='<store name="out" type="hdf5" runs="idle"/>')
    with Run(tmp_path, text) as run:
        answer = run.ranks[0].init()
    said = 'store "out" keeps the data of the run, and the simulation waits for it'
    assert answer.status == "LEAT_ERROR_CONFIG" and said in answer.error
    (tmp_path / "run.xml").write_text(text)
    checked = subprocess.run([BUILD / "bin/leat", "check", "run.xml"], cwd=tmp_path, capture_output=True, text=True)
    assert checked.returncode != 0 and said in checked.stdout + checked.stderr


@contextlib.contextmanager
def in_the_midst_of_pieces(folder):
    """A run whose plugin is in the midst of iteration 2; it ends well."""
    with Run(folder, xml(ROW, store=OUT + chunks(at="wait", **{"from": 2, "to": 2}))) as run:
        run.init()
        run.server()
        write(run, range(4))
        wait_until((folder / "pid").exists, "the plugin works on iteration 2")
        yield run
        (folder / "go").touch()
        write(run, range(4, 6))
        run.finish()
    found, iterations = products(folder, "pieces")
    assert iterations == list(range(6)) == stored(folder)
    assert found["sum"].tolist() == sums(range(6))


def test_an_iteration_whose_process_is_killed_is_done_by_the_next_one(tmp_path):
    with in_the_midst_of_pieces(tmp_path) as run:
        (worker,) = workers(run)
        os.kill(worker, signal.SIGKILL)
    assert 'store "pieces": its process was killed by signal 9' in run.log()
    assert run.log().count("opened again") == 1


def test_when_leatd_is_killed_its_process_ends_and_that_of_the_next_one_goes_on(tmp_path):
    with in_the_midst_of_pieces(tmp_path) as run:
        (worker,) = workers(run)
        os.kill(run.server(), signal.SIGKILL)
        await_death(worker)
    assert run.log().count("opened again") >= 1


def test_an_iteration_in_which_it_crashes_twice_is_lost_for_this_store_and_the_next_is_done(tmp_path):
    with Run(tmp_path, xml(ROW, store=OUT + chunks(at="crash", **{"from": 1, "to": 1}))) as run:
        run.init()
        server = run.server()
        write(run, range(4))
        (end,) = run.finalize()
        assert end.status == "LEAT_ERROR_LOST" and "its process was killed by signal 6" in end.error
    assert run.known_servers == {server}
    found, iterations = products(tmp_path, "pieces")
    assert iterations == [0, 2, 3] and found["sum"].tolist() == sums([0, 2, 3])
    assert lost_in(tmp_path) == [1] and stored(tmp_path) == [0, 1, 2, 3]


def test_one_that_crashes_in_each_iteration_is_not_called_any_more(tmp_path):
    with Run(tmp_path, xml(ROW, store=OUT + chunks(at="crash"))) as run:
        run.init()
        write(run, range(20))
        (end,) = run.finalize()
        assert end.status == "LEAT_ERROR_LOST"
    assert stored(tmp_path) == list(range(20)) and lost_in(tmp_path) == list(range(20))
    assert "no process has survived 3 calls in a row: it is not called any more" in run.log()
    assert run.log().count("opened") == 6


def test_one_that_is_stopped_at_each_piece_keeps_the_simulation_waiting_for_nothing(tmp_path):
    done = threading.Event()

    def wake():
        while not done.is_set():
            for worker in workers(run):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGCONT)
            time.sleep(0.002)

    with Run(tmp_path, xml(ROW, store=OUT + chunks('runs="idle"', at="stop"))) as run:
        run.init()
        run.server()
        # More than the buffer holds: what is left out of a process that is stopped gives its memory back.
        write(run, range(50))
        waker = threading.Thread(target=wake)
        waker.start()
        run.finish()
        done.set()
        waker.join(LIMIT)
    assert stored(tmp_path) == list(range(50))
    found, iterations = products(tmp_path, "pieces")  # in the order in which they came
    assert 49 in iterations and found["sum"].tolist() == sums(iterations)


def test_it_has_all_that_a_plugin_has_on_the_server(tmp_path):
    events = '<actions><event name="go" plugin="pieces"/></actions>'
    with Run(tmp_path, xml(ROW, store=OUT + chunks(ledger=1), log=events)) as run:
        (rank,) = run.init()
        rank.must("write", "a", 0, 1000, 0)
        rank.must("signal", "go")
        rank.end()
        run.finish()
    assert 'store "pieces": go of rank 0 in 0' in run.log()
    (line,) = [line for line in run.log().splitlines() if "the ledger has" in line]
    assert int(line.split("the ledger has ")[1].split()[0]) > 100


def test_what_it_gets_of_products_and_makes_of_them_is_passed_on(tmp_path):
    library = f"{BUILD}/lib/leat/test/publishing.so"
    idle = f'library="{library}" runs="idle" {WAIT}'
    stores = (f'<store name="pub" {idle}><option name="publish" value="sum field lent"/></store>'
              f'<store name="mid" {idle} products="pub/sum" publishes="twice"><option name="make" value="twice"/></store>')
    with Run(tmp_path, xml(ROW, store=OUT + stores)) as run:
        run.init()
        write(run, range(4))
        run.finish()
    found, iterations = products(tmp_path, "mid")
    assert iterations == list(range(4)) and found["twice"].tolist() == [2.0 * each for each in sums(range(4))]
    field, _ = products(tmp_path, "pub")
    assert np.array_equal(field["field"], np.array([data(1000, "u1", i) for i in range(4)], "f8"))

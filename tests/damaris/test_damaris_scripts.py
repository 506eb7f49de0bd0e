# SPDX-License-Identifier: Apache-2.0
"""Scripts written for Damaris run unmodified: what they find in DamarisData is what ranks wrote, bit for bit, in Damaris' types."""
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from damaris_scripts import config, log_of, script_processes, with_python
from leat_run import BUILD, Run, data

# Each iteration a line of JSON: all that there is in the dictionary.
TELL = '''
import json
import numpy as np

def told(value):
    if isinstance(value, dict):
        return {key: told(each) for key, each in value.items()}
    if isinstance(value, np.ndarray):
        assert not value.flags.writeable
        return [value.dtype.str, list(value.shape), value.tobytes().hex()]
    return value

def main(DD):
    with open("told.jsonl", "a") as file:
        print(json.dumps(told(DD)), file=file)

if __name__ == '__main__':
    main(DamarisData)
'''


def run_script(folder, text, code, iterations=3, ranks=1, domains=1, between=lambda run, iteration: None, expect=None, **more):
    (folder / "script.py").write_text(code)
    with Run(folder, text, ranks=ranks, environment={**with_python(folder), **more}) as run:
        rows = 8 // (ranks * domains)
        for rank in run.init():
            rank.must("set_int", "size", ranks * domains)
            for block in range(domains):
                rank.must("set_position", "cube_i", block, f"{(rank.number * domains + block) * rows},0,0")
            rank.must("set_position", "g/halo", 0, f"{4 * rank.number}")
        for iteration in range(iterations):
            for rank in run.ranks:
                for block in range(domains):
                    assert rank.write("cube_i", rows * 4 * 2 * 4, 100 * iteration + 10 * rank.number + block, block).ok
                assert rank.write("g/halo", 6 * 8, iteration + rank.number).ok
                if rank.number == 0:
                    assert rank.write("array_sum", 8, iteration).ok
                if iteration == 0:
                    assert rank.write("axis", 8, 7).ok
                rank.end()
            between(run, iteration)
        run.finish() if expect is None else expect(run)


def told(folder):
    return [json.loads(line) for line in (folder / "told.jsonl").read_text().splitlines()]


def array(count, dtype, seed, shape):
    return [f"<{dtype}", list(shape), data(count, dtype, seed).tobytes().hex()]


@pytest.mark.parametrize("ranks, domains", [(1, 1), (2, 1), (2, 2)])
def test_the_dictionary_has_what_damaris_puts_there(tmp_path, ranks, domains):
    run_script(tmp_path, config(domains=domains), TELL, ranks=ranks, domains=domains)
    rows = 8 // (ranks * domains)
    all_told = told(tmp_path)
    assert [each["iteration_data"]["iteration"] for each in all_told] == [0, 1, 2]
    magic = all_told[0]["damaris_env"]["simulation_magic_number"]
    assert magic.isdigit()
    for iteration, each in enumerate(all_told):
        assert each["damaris_env"] == {
            "is_dedicated_node": False, "is_dedicated_core": True, "servers_per_node": 1, "clients_per_node": ranks,
            "ranks_per_node": ranks + 1, "cores_per_node": ranks + 1, "number_of_nodes": 1, "simulation_name": "run",
            "simulation_magic_number": magic}
        assert each["dask_env"] == {"dask_scheduler_file": "", "dask_workers_name": f"run_{magic}_0", "dask_nworkers": 1,
                                    "dask_threads_per_worker": 1}
        here = each["iteration_data"]
        assert set(here) == {"iteration", "cube_i", "g/halo", "array_sum"} | ({"axis"} if iteration == 0 else set())
        published = f"S0_I{iteration}_{magic}"
        blocks = [(rank, block) for rank in range(ranks) for block in range(domains)]
        assert here["cube_i"] == {
            "numpy_data": {f"P{r}_B{b}": array(rows * 8, "i4", 100 * iteration + 10 * r + b, (rows, 4, 2)) for r, b in blocks},
            "sort_list": [[published, f"P{r}_B{b}", [(r * domains + b) * rows, 0, 0]] for r, b in blocks], "type_string": "_int"}
        assert here["g/halo"]["numpy_data"] == {f"P{r}_B0": array(6, "f8", iteration + r, (6,)) for r in range(ranks)}
        assert here["array_sum"] == {"numpy_data": {"P0_B0": array(1, "f8", iteration, (1,))},
                                     "sort_list": [[published, "P0_B0", [0]]], "type_string": "_double"}


def test_a_script_is_run_where_not_all_was_written_and_at_its_frequency(tmp_path):
    (tmp_path / "script.py").write_text(TELL)
    with Run(tmp_path, config(every=2), environment=with_python(tmp_path)) as run:
        (rank,) = run.init()
        for iteration in range(5):
            assert rank.write("array_sum", 8, iteration).ok
            rank.end()
        run.finish()
    found = [each["iteration_data"] for each in told(tmp_path)]
    assert [each["iteration"] for each in found] == [0, 2, 4]
    for each in found:
        assert each["cube_i"] == {"numpy_data": {}, "sort_list": [], "type_string": "_int"}
        assert each["array_sum"]["numpy_data"] == {"P0_B0": array(1, "f8", each["iteration"], (1,))}


def test_names_of_the_top_level_last_and_print_goes_to_the_log(tmp_path):
    run_script(tmp_path, config(), '''
try:
    count += 1
except NameError:
    count = 1
whole = DamarisData["iteration_data"]["cube_i"]["numpy_data"]["P0_B0"]
before = whole if count == 1 else before
print("count", count, "first", int(before.sum()) == {})
'''.format(int(data(64, "i4", 0).sum())))
    assert re.findall(r"count \d first \w+", log_of(tmp_path)) == [f"count {n} first True" for n in (1, 2, 3)]


def test_a_script_that_raises_is_called_again(tmp_path):
    """As often as Damaris would, which is always."""
    run_script(tmp_path, config(), '''
with open("called", "a") as file:
    file.write("x")
raise ValueError("of mine")
''', iterations=8, expect=lambda run: run.finalize())
    assert (tmp_path / "called").read_text() == 8 * "x" and "ValueError: of mine" in log_of(tmp_path)


def test_what_a_script_makes_of_the_dictionary_does_no_harm(tmp_path):
    run_script(tmp_path, config(), '''
with open("seen", "a") as file:
    print(sorted(DamarisData), DamarisData["iteration_data"]["iteration"], file=file)
for name in ("damaris_env", "iteration_data"):
    DamarisData.pop(name, None)
DamarisData = None
''')
    assert (tmp_path / "seen").read_text() == "['damaris_env', 'dask_env', 'iteration_data'] 0\n" + "".join(
        f"['dask_env', 'iteration_data'] {i}\n" for i in (1, 2))


def test_damaris4py_of_an_installed_damaris_is_not_taken(tmp_path):
    (tmp_path / "installed/damaris4py").mkdir(parents=True)
    (tmp_path / "installed/damaris4py/__init__.py").write_text("raise ImportError('libdamaris.so: cannot open')")
    run_script(tmp_path, config(), "from damaris4py.server import isserver\nprint('server', isserver())\n",
               PYTHONPATH=f"{tmp_path}/installed:{os.environ['PYTHONPATH']}")
    assert log_of(tmp_path).count("server True") == 3


def test_damaris4py_says_who_the_server_is(tmp_path):
    run_script(tmp_path, config(), '''
def main(DD):
    from damaris4py.server import (clientspernode, corespernode, getservercomm, isclient, isserver, listknownclients,
                                   magicnumber_string, numberofnodes, serverspernode)
    from damaris4py.dask import damaris_dask
    comm = getservercomm()
    comm.Barrier()
    assert (comm.Get_rank(), comm.Get_size(), comm.gather(5, root=0), comm.allreduce(2)) == (0, 1, [5], 2)
    assert isserver() and not isclient() and listknownclients() == [0, 1]
    assert (clientspernode(), corespernode(), serverspernode(), numberofnodes()) == (2, 3, 1, 1)
    assert magicnumber_string() == damaris_dask.return_magic_number(DD)
    value = damaris_dask.return_scalar_from_position(DD, "array_sum", pos=(0))
    assert value == damaris_dask.return_numpy_array(DD, "array_sum")[0]
    assert damaris_dask.return_numpy_array(DD, "array_sum", client_rank=1) is None
    assert damaris_dask.return_scheduler_filename(DD) == ""
    print("all is well at", damaris_dask.return_iteration(DD))

if __name__ == "__main__":
    main(DamarisData)
''', ranks=2)
    assert log_of(tmp_path).count("all is well at") == 3, log_of(tmp_path)


def test_a_script_is_no_rank_of_the_job(tmp_path):
    """With what mpirun has put into the environment MPI would take it for one."""
    run_script(tmp_path, config(), '''
import os
print("seen", sorted(name for name in os.environ if name.startswith(("PMIX_", "OMPI_"))))
''', PMIX_RANK="0", PMIX_NAMESPACE="1@2", OMPI_COMM_WORLD_RANK="0", OMPI_MCA_btl="self", iterations=1)
    assert "seen ['OMPI_MCA_btl']" in re.sub(r"'OMPI_ALLOW\w+', ", "", log_of(tmp_path))


@pytest.mark.parametrize("dask, why", [
    ('scheduler-file="none.json"', "there is no Dask scheduler: none.json does not exist"),
    ('scheduler-file="script.py" timeout="1"', "there is no Dask scheduler by script.py: ")])
def test_without_a_scheduler_the_script_runs_all_the_same(tmp_path, dask, why):
    run_script(tmp_path, config(dask=dask), TELL)
    assert [each["dask_env"]["dask_scheduler_file"] for each in told(tmp_path)] == [""] * 3
    assert why in log_of(tmp_path)


def test_a_worker_or_server_that_is_killed_costs_a_script_that_iteration_at_most(tmp_path):
    """And what the script is given after it is right: DamarisData is made anew, and names of the top level begin anew."""
    def kill(run, iteration):
        if iteration == 4:
            os.kill(run.server(), signal.SIGKILL)
    run_script(tmp_path, config(), TELL, iterations=12, between=kill, expect=lambda run: run.finalize())
    found = told(tmp_path)
    numbers = [each["iteration_data"]["iteration"] for each in found]
    assert numbers == sorted(set(numbers)) and numbers[-1] == 11
    magics = {each["damaris_env"]["simulation_magic_number"] for each in found}
    assert len(magics) == 1, "the run is one"
    for each in found:
        i = each["iteration_data"]["iteration"]
        assert each["iteration_data"]["cube_i"]["numpy_data"] == {"P0_B0": array(64, "i4", 100 * i, (8, 4, 2))}


def test_a_script_whose_process_is_killed_is_run_again(tmp_path):
    def kill(run, iteration):
        if iteration == 3:
            until = time.monotonic() + 30
            while not script_processes(run) and time.monotonic() < until:
                time.sleep(0.01)
            for pid in script_processes(run):
                os.kill(pid, signal.SIGKILL)
    run_script(tmp_path, config(), TELL, iterations=10, between=kill, expect=lambda run: run.finalize())
    numbers = [each["iteration_data"]["iteration"] for each in told(tmp_path)]
    assert numbers == sorted(set(numbers)) and set(range(5, 10)) <= set(numbers)


def test_leat_check_shows_the_script_and_what_is_wrong_with_it(tmp_path):
    def check(code):
        (tmp_path / "script.py").write_text(code)
        (tmp_path / "run.xml").write_text(config(every=3))
        done = subprocess.run([BUILD / "bin/leat", "check", "run.xml"], cwd=tmp_path, capture_output=True, text=True, timeout=60,
                              env={**os.environ, **with_python(tmp_path)})
        return done.stdout + done.stderr
    shown = check('raise SystemExit("it was executed")\n')
    assert re.search(r"script +\(for Damaris\) +cube_i, g/halo, array_sum, axis +every 3 iterations", shown), shown
    assert "it was executed" not in shown
    assert re.search(r"script.py:2.*error: ", check("def main(DD):\nprint(DD)\n"))


def test_an_event_says_when_it_is_run(tmp_path):
    (tmp_path / "script.py").write_text(TELL)
    text = f'''<simulation name="run"><architecture><dedicated cores="1"/><buffer size="16MiB"/></architecture>
<data><layout name="l" type="int" dimensions="2"/><variable name="a" layout="l"/></data>
<scripts interpreter="{sys.executable}"><script file="script.py" form="damaris" variables="a" when-slow="wait"/></scripts>
<actions><event name="shot" script="script"/></actions></simulation>'''
    with Run(tmp_path, text) as run:
        (rank,) = run.init()
        for iteration in range(4):
            assert rank.write("a", 8, iteration).ok
            if iteration in (1, 3):
                rank.must("signal", "shot")
            rank.end()
        run.finish()
    assert [each["iteration_data"]["iteration"] for each in told(tmp_path)] == [1, 3]
    done = subprocess.run([BUILD / "bin/leat", "check", "run.xml"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert re.search(r"\(for Damaris\) .* with shot", done.stdout), done.stdout


BAD = {'<script file="s.py" every="2"/>': 'every="..." is for form="damaris"',
       '<script file="s.py" variables="a"/>': 'in @leat.on_iteration(variables=...)',
       '<script file="s.py" form="damaris" variables="a, bb"/>': 'unknown variable "bb"; did you mean "b"',
       '<script file="s.py" form="damaris"><dask scheduler-file="x"/><dask scheduler-file="y"/></script>': "a second <dask>",
       '<script file="s.py" form="damariss"/>': "expected leat, damaris, deisa, catalyst or graph"}


@pytest.mark.parametrize("script", BAD)
def test_what_cannot_be_is_said_with_its_line(tmp_path, script):
    (tmp_path / "s.py").write_text("")
    (tmp_path / "run.xml").write_text(f'''<simulation name="run">
<architecture><dedicated cores="1"/><buffer size="16MiB"/></architecture>
<data><layout name="l" type="int" dimensions="2"/><variable name="a" layout="l"/><variable name="b" layout="l"/></data>
<scripts>{script}</scripts></simulation>''')
    done = subprocess.run([BUILD / "bin/leat", "check", "run.xml"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert re.search(r"run.xml:4:\d+: error: ", done.stderr) and BAD[script] in done.stderr, done.stderr


def test_the_converted_xml_runs_the_same_scripts(tmp_path):
    (tmp_path / "damaris.xml").write_text(config(every=2, dask='scheduler-file="d.json" nthreads="3" timeout="4" keep-workers="yes"'))
    done = subprocess.run([BUILD / "bin/leat", "convert", tmp_path / "damaris.xml"], capture_output=True, text=True, timeout=60,
                          check=True)
    assert re.search(r'<script file="script.py" form="damaris" every="2" variables="cube_i, g/halo, array_sum, axis"', done.stdout)
    assert '<dask scheduler-file="d.json" threads="3" timeout="4s"' in done.stdout
    assert 'keep-workers="yes" of <pyscript>: Dask' in done.stderr
    folder = tmp_path / "leat"
    folder.mkdir()
    text = done.stdout.replace('every="2"', 'every="1"').replace('scheduler-file="d.json"', 'scheduler-file="no.json"')
    run_script(folder, text, TELL, LEAT_PLACE="process")  # its ranks do not call leat_split
    assert [each["iteration_data"]["iteration"] for each in told(folder)] == [0, 1, 2]

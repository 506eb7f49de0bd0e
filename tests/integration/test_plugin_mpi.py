# SPDX-License-Identifier: Apache-2.0
"""Plugins communicate by the MPI of the simulation where servers are ranks of it, and are told so where there is none."""
from leat_run import BUILD, Run
from leat_run import xml as run_xml
from test_places import Job

PLUGIN = BUILD / "lib/leat/tests/sum_plugin.so"
STORE = f'<store name="sum" library="{PLUGIN}"><option name="file" value="sum-"/></store>'
XML = f"""<simulation name="run"><architecture><dedicated cores="3" servers="2" place="ranks"/><buffer size="16MiB" timeout="10s"/>
</architecture><data><layout name="l" type="double" dimensions="512"/><variable name="u" layout="l"/></data>
<storage>{STORE}</storage></simulation>"""


def sums(path):
    return [line.split() for line in path.read_text().splitlines()]


def test_plugins_of_two_servers_add_up_over_both(tmp_path):
    job = Job(tmp_path, "write", 7, xml=XML, SPLIT_RANK_THREADS="1")
    assert job.end() == 0, job.output()
    assert {p.name for p in tmp_path.glob("sum-*")} == {"sum-0", "sum-1"}  # the rank that only gives its core has no plugins
    for server, own in ((0, 0 + 1000), (1, 2000 + 3000)):
        assert [(int(i), int(n), float(of_it), float(of_all)) for i, n, of_it, of_all in sums(tmp_path / f"sum-{server}")] == [
            (i, 2, own + 2 * i, 6000 + 4 * i) for i in range(10)]
    job.check_nothing_left()


def test_a_plugin_has_no_communicator_where_mpi_does_not_allow_it_threads_and_the_log_says_why(tmp_path):
    job = Job(tmp_path, "write", 7, xml=XML)
    assert job.end() == 0, job.output()
    alone = list(tmp_path.glob("sum-none-*"))
    assert len(alone) == 2 and all([i for i, *_ in sums(path)] == [str(i) for i in range(10)] for path in alone)
    assert 'store "sum": has no communicator' in job.output() and "MPI_THREAD_SERIALIZED" in job.output()


def test_a_plugin_of_a_server_in_a_process_of_its_own_has_no_communicator(tmp_path):
    data = '<layout name="l" type="double" dimensions="4"/><variable name="u" layout="l"/>'
    with Run(tmp_path, run_xml(data, store=STORE)) as run:
        (rank,) = run.init()
        rank.must("write", "u", 0, 32, 1)
        rank.end()
        run.finish()
    (path,) = tmp_path.glob("sum-*")
    assert "none" in path.name and len(sums(path)) == 1 and "communicator" not in run.log()

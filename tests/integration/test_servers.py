# SPDX-License-Identifier: Apache-2.0
"""Several servers on a node: each has neighbouring ranks, a session and a file of its own, and one view shows all."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import h5py
import pytest
from control_run import ctl, wait_until
from leat_run import BUILD, LIMIT, Run, await_death, data, same_bits, xml
from stored_blocks import stored_ranks
from test_places import Job, expected
from without_xarray import without_xarray  # noqa: F401

DATA = """
  <layout name="block" type="double" dimensions="4,6" global="16,6" names="y,x"/>
  <layout name="list" type="int" dimensions="3"/>
  <variable name="u" layout="block"/><variable name="own" layout="list"/>"""
DEDICATED = '<dedicated cores="1"/>'


def text(servers, cores=None, more="", **rest):
    wanted = f'<dedicated cores="{cores or servers}" servers="{servers}" {more}/>'
    whole = xml(DATA, **rest)
    assert DEDICATED in whole
    return whole.replace(DEDICATED, wanted)


def server_of(run, number):
    """Process id of this server of the node."""
    (pid,) = [pid for pid in run.servers() if f"--server\0{number}\0" in (pathlib.Path("/proc") / str(pid) / "cmdline").read_text()]
    return pid


def iterate(ranks, number):
    for rank in ranks:
        rank.must("set_position", "u", 0, f"{4 * rank.number},0")
        rank.must("write", "u", 0, 4 * 6 * 8, 100 * number + rank.number)
        rank.must("write", "own", 0, 12, 100 * number + 50 + rank.number)
    for rank in ranks:
        rank.end()


def expect(path, rows, ranks=4, missing=(), rows_of=None):
    """`missing`: pairs of iteration and rank. rows_of: whose blocks of `u` are there, for nobody else has written."""
    with h5py.File(path) as file:
        assert file["iteration"][:].tolist() == list(range(rows)) and file["u"].shape == (rows, 16, 6)
        for i in range(rows):
            own = stored_ranks(file, "own", i)
            assert sorted(own) == [rank for rank in range(ranks) if (i, rank) not in missing]
            for rank in own:
                assert rows_of is None or rank in rows_of
                assert same_bits(file["u"][i][4 * rank:4 * rank + 4], data(24, "f8", 100 * i + rank).reshape(4, 6)), (i, rank)
                assert same_bits(own[rank], data(3, "i4", 100 * i + 50 + rank))


def test_each_server_has_neighbouring_ranks_and_a_file_of_its_own(tmp_path):
    with Run(tmp_path, text(2, cores=3), ranks=4) as run:
        ranks = run.init()
        assert len(run.servers()) == 2
        assert {run.session, f"{run.session}.1"} == {p.stem for p in run.runtime.glob("*.live")}
        for i in range(5):
            iterate(ranks, i)
        run.finish()
    expect(tmp_path / "run.h5", 5)
    parts = sorted((tmp_path / "run.parts" / run.session).iterdir())
    assert [p.name for p in parts] == ["rank000000.h5", "rank000002.h5"]
    for part, its in zip(parts, ((0, 1), (2, 3))):
        with h5py.File(part) as file:
            assert sorted(stored_ranks(file, "own", 2)) == list(its)


def test_ranks_that_do_not_divide_evenly_have_servers_all_the_same(tmp_path):
    with Run(tmp_path, text(3), ranks=4) as run:
        ranks = run.init()
        assert len(run.servers()) == 3
        iterate(ranks, 0)
        run.finish()
    expect(tmp_path / "run.h5", 1)
    assert len(list((tmp_path / "run.parts" / run.session).iterdir())) == 3


@pytest.mark.parametrize("number", [0, 1])
def test_one_of_two_servers_is_killed_and_nothing_is_lost(tmp_path, number):
    with Run(tmp_path, text(2), ranks=4) as run:
        ranks = run.init()
        other, rows = server_of(run, 1 - number), 0
        for _ in range(3):
            killed = server_of(run, number)
            os.kill(killed, signal.SIGKILL)
            await_death(killed)
            until = time.monotonic() + LIMIT
            while len(run.servers()) < 2:  # ranks see it now and then, and start another one
                assert time.monotonic() < until
                iterate(ranks, rows)
                rows += 1
            assert server_of(run, number) != killed and server_of(run, 1 - number) == other
        run.finish()
    expect(tmp_path / "run.h5", rows)


def test_more_servers_than_ranks_is_an_error_on_each_of_them(tmp_path):
    with Run(tmp_path, text(3), ranks=2) as run:
        for rank in run.ranks:
            rank.start("init_ranks", run.config, run.session, rank.number, 2)
        for rank in run.ranks:
            answer = rank.result()
            assert answer.status == "LEAT_ERROR_CONFIG" and 'servers="3"' in answer.error and "only 2 ranks" in answer.error, answer


def test_ranks_die_and_their_server_alone_ends(tmp_path):
    with Run(tmp_path, text(2), ranks=4) as run:
        ranks = run.init()
        iterate(ranks, 0)
        servers = [server_of(run, 0), server_of(run, 1)]
        for rank in ranks[2:]:
            rank.kill()
        await_death(servers[1])
        iterate(ranks[:2], 1)
        assert run.servers() == servers[:1]
        run.finalize(ranks[:2])
    expect(tmp_path / "run.h5", 2, missing={(1, 2), (1, 3)})


def test_ranks_of_the_job_are_two_servers_of_a_node(tmp_path):
    dedicated = '<dedicated cores="3" servers="2" place="ranks"/>'
    whole = f"""<simulation name="run"><architecture>{dedicated}<buffer size="16MiB" timeout="10s"/></architecture>
<data><layout name="l" type="double" dimensions="512"/><variable name="u" layout="l"/></data>
<storage><store name="out" type="hdf5"/></storage></simulation>"""
    job = Job(tmp_path, "write", 7, xml=whole)
    assert job.end() == 0, job.output()
    # Of the four ranks of the simulation each server has two, and beside it those that give it their cores.
    assert [job.said(rank)["split"][0] == "LEAT_SERVED" for rank in range(7)] == [False, False, True, True, False, False, True]
    assert all("end" in job.said(rank) for rank in range(7))
    with h5py.File(tmp_path / "run.h5") as file:
        for row in range(10):
            blocks = stored_ranks(file, "u", row)
            assert sorted(blocks) == list(range(4)) and all((blocks[rank] == expected(rank, row)).all() for rank in blocks)
    assert len(list((tmp_path / "run.parts").glob("*/rank*.h5"))) == 2
    job.check_nothing_left()


def test_too_few_ranks_for_servers_of_the_job_is_an_error_on_all(tmp_path):
    whole = """<simulation name="run"><architecture><dedicated cores="2" servers="2" place="ranks"/></architecture></simulation>"""
    job = Job(tmp_path, "write", 3, xml=whole)
    assert job.end() != 0
    for rank in range(3):
        status, message = job.said(rank)["split"]
        assert status == "LEAT_ERROR_CONFIG" and "3 ranks" in message and 'servers="2"' in message


PARAMETER = '<parameter name="dt" type="double" value="0.5"/>'
EVENTS = '<actions><event name="x" scope="node" store="out"/><event name="y" scope="run"/></actions>'


def steerable(servers):
    return text(servers, log=EVENTS).replace("<data>", "<data>" + PARAMETER)


def test_an_order_to_a_run_reaches_all_of_its_servers_and_each_answers(tmp_path):
    with Run(tmp_path, steerable(2), ranks=4) as run:
        ranks = run.init()
        names = [run.session, f"{run.session}.1"]
        iterate(ranks, 0)
        ctl(run, "set", "dt=0.25", "--scope", "node", "--wait", "0")
        for i in (1, 2, 3):
            iterate(ranks, i)
        assert [rank.call("get_double", "dt").value for rank in ranks] == [0.25] * 4
        shown = ctl(run, "status")
        assert [line for line in shown.splitlines() if line in names] == names
        answers = json.loads(ctl(run, "status", "--json"))
        assert [each["session"] for each in answers] == names
        assert [(each["result"]["server"], each["result"]["servers"]) for each in answers] == [(0, 2), (1, 2)]
        one = json.loads(subprocess.run([BUILD / "bin/leat", "ctl", names[1], "status", "--json"], env=run.environment,
                                        capture_output=True, check=True).stdout)
        assert one["result"]["session"] == names[1]
        assert ctl(run, "signal", "x", "--wait", "0") == f"{names[0]}: accepted\n{names[1]}: accepted\n"
        assert ctl(run, "signal", "y", "--wait", "0") == "accepted\n", "it happens on all"
        refused = ctl(run, "signal", "z", code=1)
        assert all(f'{name}: the XML declares no event "z"' in refused for name in names)
        assert 'no event \\"z\\"' in ctl(run, "signal", "z", "--json", code=1)
        iterate(ranks, 4)
        run.finish()
    parts = sorted((tmp_path / "run.parts" / run.session).iterdir())
    assert len(parts) == 2
    for part in parts:
        with h5py.File(part) as file:
            assert len(file["iteration"]) == 1


def test_a_drain_of_a_run_drains_all_of_its_servers(tmp_path):
    with Run(tmp_path, text(2), ranks=4) as run:
        ranks = run.init()
        for i in range(3):
            iterate(ranks, i)
        said = ctl(run, "drain")
        assert [line.split(":")[0] for line in said.splitlines()] == [run.session, f"{run.session}.1"]
        wait_until(lambda: not run.servers(), "the end of both")
        for rank in ranks:
            rank.call("finalize")
    expect(tmp_path / "run.h5", 3)


def test_a_server_that_has_ended_is_said_not_to_listen(tmp_path):
    with Run(tmp_path, text(2), ranks=4) as run:
        ranks = run.init()
        iterate(ranks, 0)
        last = server_of(run, 1)
        for rank in ranks[2:]:
            rank.kill()
        await_death(last)
        said = ctl(run, "status", code=3)
        assert f'no server of session "{run.session}.1" listens any more' in said and "buffer" in said
        run.finalize(ranks[:2])


def test_all_of_several_servers_are_killed_and_recovered_by_the_name_of_the_run(tmp_path):
    with Run(tmp_path, text(2), ranks=4) as run:
        ranks = run.init()
        iterate(ranks, 0)
        for pid in run.servers():
            os.kill(pid, signal.SIGSTOP)
        iterate(ranks, 1)
        for rank in ranks:
            rank.kill()
        for pid in run.servers():
            os.kill(pid, signal.SIGKILL)
            await_death(pid)
        recovered = subprocess.run([BUILD / "bin/leat", "recover", run.session], env=run.environment, cwd=tmp_path,
                                   capture_output=True, text=True)
        assert recovered.returncode == 0 and recovered.stdout.count("that were in memory are stored now") == 2, recovered
        assert f"session {run.session}.1 of" in recovered.stdout
    expect(tmp_path / "run.h5", 2)


def write_all(ranks, rows):
    for i in range(rows):
        iterate(ranks, i)


def start_init(run, ranks):
    for rank in ranks:
        rank.start("init_ranks", run.config, run.session, rank.number, len(run.ranks))


def init(run, ranks):
    start_init(run, ranks)
    for rank in ranks:
        answer = rank.result()
        assert answer.ok, answer


def test_the_first_server_waits_for_late_ranks_of_the_second(tmp_path):
    """When it had ended, they would start another first server, which knows nothing of what the first has stored."""
    with Run(tmp_path, text(2), ranks=4) as run:
        init(run, run.ranks[:2])
        write_all(run.ranks[:2], 5)
        for rank in run.ranks[:2]:
            rank.start("finalize")
        assert not run.ranks[0].has_answered()
        init(run, run.ranks[2:])
        write_all(run.ranks[2:], 5)
        assert all(answer.ok for answer in run.finalize(run.ranks[2:]))
        assert all(rank.result().ok for rank in run.ranks[:2])
    expect(tmp_path / "run.h5", 5)
    assert not (tmp_path / "run.parts" / f"{run.session}.1").exists()


def test_ranks_of_the_second_server_that_are_given_up_start_no_other_first_one(tmp_path):
    with Run(tmp_path, text(2, timeout="6s"), ranks=4) as run:
        init(run, run.ranks[:2])
        write_all(run.ranks[:2], 3)
        assert all(answer.ok for answer in run.finalize(run.ranks[:2]))
        run.await_end()
        ledger = (tmp_path / next(p.name for p in tmp_path.glob("run*.ledger.json"))).read_text()
        assert json.loads(ledger)["never_came"] == [2, 3]
        assert "leat_finalize: ranks 2-3 of this node did not connect, and the others continued without them" in run.log()
        start_init(run, run.ranks[2:])
        for rank in run.ranks[2:]:
            answer = rank.result()
            assert answer.status == "LEAT_ERROR_STATE" and "came too late" in answer.error, answer
        assert "ranks 2, 3 of this node" in run.log()
        assert [p.read_text() for p in tmp_path.glob("run*.ledger.json")] == [ledger]
    expect(tmp_path / "run.h5", 3, missing={(i, rank) for i in range(3) for rank in (2, 3)}, rows_of=(0, 1))


def test_a_first_server_that_takes_over_knows_who_has_been_told_where_to_go(tmp_path):
    with Run(tmp_path, text(2), ranks=4) as run:
        ranks = run.init()
        write_all(ranks, 2)
        killed = server_of(run, 0)
        os.kill(killed, signal.SIGKILL)
        await_death(killed)
        iterate(ranks, 2)
        begin = time.monotonic()
        run.finish()
        assert time.monotonic() - begin < 5, "waits for ranks that came long ago"
    expect(tmp_path / "run.h5", 3)


def test_a_value_is_steered_for_the_ranks_of_all_servers_or_of_one(tmp_path):
    with Run(tmp_path, text(2).replace("<data>", '<data><parameter name="dt" type="double" value="0.5"/>'), ranks=4) as run:
        ranks, seen, i = run.init(), [], 0
        ctl(run, "set", "dt=0.25", "--wait", "0")
        until = time.monotonic() + LIMIT
        while not seen or seen[-1] != [0.25] * 4:
            assert time.monotonic() < until, run.log()
            seen.append([rank.must("get_double", "dt").value for rank in ranks])
            iterate(ranks, i)
            i += 1
        mixed = [(i, each) for i, each in enumerate(seen) if len(set(each)) > 1]
        assert not mixed and set(map(tuple, seen)) <= {(0.5,) * 4, (0.25,) * 4}, (mixed, run.log())
        subprocess.run([BUILD / "bin/leat", "ctl", run.session + ".1", "set", "dt=0.125", "--scope", "node", "--wait", "0"], check=True,
                       env=run.environment, cwd=tmp_path, capture_output=True)
        while [rank.must("get_double", "dt").value for rank in ranks] != [0.25, 0.25, 0.125, 0.125]:
            assert time.monotonic() < until, run.log()
            iterate(ranks, i)
            i += 1
        run.finish()


def test_scripts_of_several_servers_steer_the_run(tmp_path):
    (tmp_path / "analysis").mkdir()
    (tmp_path / "analysis" / "steer.py").write_text("""
def process(ds, ctx):
    if ctx.iteration == 1 and ctx.is_first:
        ctx.set("dt", 0.25)
""")
    scripts = f'<scripts interpreter="{sys.executable}"><folder path="analysis" when-slow="wait"/></scripts>'
    whole = text(2, log=scripts).replace("<data>", '<data><parameter name="dt" type="double" value="0.5"/>')
    with Run(tmp_path, whole, ranks=2) as run:
        ranks, seen, i = run.init(), [], 0
        until = time.monotonic() + LIMIT
        while not seen or seen[-1] != [0.25] * 2:
            assert time.monotonic() < until, run.log()
            seen.append([rank.must("get_double", "dt").value for rank in ranks])
            iterate(ranks, i)
            i += 1
        assert all(each in ([0.5] * 2, [0.25] * 2) for each in seen)
        run.finish()

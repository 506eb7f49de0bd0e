# SPDX-License-Identifier: Apache-2.0
"""Traces of runs in which something dies or is full: what was written before is whole, and the run goes on."""
import os
import resource
import signal
import subprocess
import time

import h5py
from leat_run import BUILD, LIMIT, Run, await_death
from nodes_run import NodesRun
from trace_run import Trace, config, leat, write


def await_slices(path, ranks_have, store_has):
    """In the file, while the run goes on: of a server that is killed before, they would be missing."""
    until = time.monotonic() + LIMIT
    while True:
        trace = Trace(path) if path.exists() else None
        stored = [each.name for track in trace.all if track.name == "store out" for each in track.slices] if trace else []
        if trace and all(trace.count(name) >= count for name, count in ranks_have.items()) and set(store_has) <= set(stored):
            return
        assert time.monotonic() < until, f"{ranks_have} and {store_has} do not come: {stored}"
        time.sleep(0.02)


def iterations(numbers):
    return {f"iteration {number}" for number in numbers}


def test_it_opens_while_the_run_goes_on_and_after_everything_was_killed(tmp_path):
    path = tmp_path / "run.pftrace"
    with Run(tmp_path, config(), ranks=2) as run:
        run.init()
        write(run, range(10))
        await_slices(path, {"leat_write b": 20}, {"open"})
        run.kill_all()
        whole = path.read_bytes()
        trace = Trace(path)
        assert trace.count("leat_write b") == 20 and [each.name for each in trace["store out"].slices][0] == "open"
        words = [BUILD / "bin/leat", "recover", run.session]
        recovered = subprocess.run(words, env=run.environment, cwd=tmp_path, capture_output=True, text=True)
        all_was_stored = "no session of this name was killed with data in memory" in recovered.stderr
        assert (recovered.returncode == 0 or all_was_stored) and path.read_bytes() == whole, recovered


def test_a_packet_that_was_cut_off_hides_nothing(tmp_path):
    with Run(tmp_path, config()) as run:
        run.init()
        write(run, range(3))
        run.finish()
    whole = (tmp_path / "run.pftrace").read_bytes()
    folder = tmp_path / "cut"
    folder.mkdir()
    for cut in range(1, 120, 7):
        (folder / "run.pftrace").write_bytes(whole[:-cut])
        done = leat(folder, "trace", "run.pftrace", "-o", "whole.trace")
        assert done.returncode == 0, done
        assert len(whole) - cut - 100 <= Trace(folder / "whole.trace").bytes <= len(whole) - cut + 8


def test_the_next_server_goes_on_in_the_same_file_behind_whole_packets(tmp_path):
    path = tmp_path / "run.pftrace"
    with Run(tmp_path, config(), ranks=2) as run:
        run.init()
        write(run, range(5))
        await_slices(path, {"leat_write b": 10, "leat_end_iteration": 10}, iterations(range(5)))
        server = run.server()
        os.kill(server, signal.SIGKILL)
        await_death(server)
        with open(path, "ab") as file:  # as a server leaves it that is killed while it writes
            file.write(b"\x0a\x50\x40\x01")
        write(run, range(5, 10))
        run.finish()
    trace = Trace(path)
    assert [trace.count(name) for name in ("leat_write a", "leat_write b", "leat_end_iteration")] == [20, 20, 20]
    assert len(trace.ranks) == 2 and len(trace.roots) == 1 and all(track.open == 0 for track in trace.ranks)
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == list(range(10))
    stored = [each.name for each in trace["store out"].slices if each.name.startswith("iteration")]
    assert set(stored) == iterations(range(10))


def test_servers_of_two_nodes_write_two_files_that_become_one_trace(tmp_path):
    began = time.time_ns()
    with NodesRun(tmp_path, config(), [[0, 1], [2, 3]]) as run:
        run.init()
        write(run, range(4), between=lambda: time.sleep(0.01))
        run.finish()
    ended = time.time_ns()
    files = sorted(tmp_path.glob("*.pftrace"))
    assert len(files) == 2 and not (tmp_path / "run.pftrace").exists()
    done = leat(tmp_path, "trace", files[0], "-o", "whole.pftrace")
    assert done.returncode == 0 and done.stdout == "made whole.pftrace\n", done
    trace = Trace(tmp_path / "whole.pftrace")
    trace.check_whole()
    assert len(trace.roots) == 2 and len({each["about"] for each in trace.roots.values()}) == 1
    assert [track.name for track in trace.ranks] == [f"rank {i}" for i in range(4)]
    assert trace.count("leat_write a") == 16
    ends = [end for rank in trace.ranks for end in rank.named("leat_end_iteration")]
    assert all(began <= end.begun and end.ended <= ended for end in ends)
    for iteration in range(4):  # ranks end it one behind the other
        times = [next(e.begun for e in rank.named("leat_end_iteration") if e.facts["iteration"] == iteration)
                 for rank in trace.ranks]
        assert times == sorted(times)
    # A second time the joined file is no trace of a server.
    again = leat(tmp_path, "trace", ".", "-o", "again.pftrace")
    assert again.returncode == 0 and (tmp_path / "again.pftrace").read_bytes() == (tmp_path / "whole.pftrace").read_bytes()


def test_on_a_full_disk_all_is_stored_but_the_trace(tmp_path):
    with Run(tmp_path, config(path="/dev/full")) as run:
        run.init()
        write(run, range(10))
        run.finish()
    assert run.log().count("the trace /dev/full ends here: No space left on device; the run goes on") == 1, run.log()
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == list(range(10))


def test_what_was_written_before_the_disk_was_full_is_whole(tmp_path):
    most = 200_000
    with Run(tmp_path, config(store='<store name="out" type="hdf5" every="1000000"/>')) as run:
        (rank,) = run.init()
        rank.end()
        resource.prlimit(run.server(), resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
        rank.must_all([("end_iteration",)] * 4000)
        until = time.monotonic() + LIMIT
        while "ends here" not in run.log():
            assert time.monotonic() < until, run.log()
            time.sleep(0.01)
        resource.prlimit(run.server(), resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        run.finish()
    assert run.log().count("the trace run.pftrace ends here: ") == 1, run.log()
    trace = Trace(tmp_path / "run.pftrace")
    assert most // 4 < trace.bytes <= most and 500 < trace.count("leat_end_iteration") < 4000


def test_a_trace_that_cannot_be_written_costs_a_warning(tmp_path):
    (tmp_path / "file").touch()
    with Run(tmp_path, config(path="file/run.pftrace")) as run:
        run.init()
        write(run, range(3))
        run.finish()
    assert run.log().count("the trace file/run.pftrace cannot be written, and there is none: ") == 1
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"][:].tolist() == [0, 1, 2]


def test_a_run_that_begins_writes_the_trace_anew(tmp_path):
    for count in (5, 2):
        with Run(tmp_path, config()) as run:
            run.init()
            write(run, range(count))
            run.finish()
    assert Trace(tmp_path / "run.pftrace").count("leat_write a") == 2

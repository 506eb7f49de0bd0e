# SPDX-License-Identifier: Apache-2.0
"""Bad input gets a clear error, and nothing is lost: the run goes on, and what was not stored is said."""
import re
import resource
import shutil
import subprocess
import time

import h5py
import pytest
from leat_run import BUILD, Run, data, same_bits, xml
from stored_blocks import stored_ranks

ROW = '<layout name="row" type="int" dimensions="5"/><variable name="temperature" layout="row"/>'


def init_fails(tmp_path, text, status, *parts, ranks=1):
    with Run(tmp_path, text, ranks=ranks) as run:
        for rank in run.ranks:
            answer = rank.init()
            assert answer.status == status, answer
            for part in parts:
                assert part in answer.error
        # A failed init is no end: other calls say so and harm nothing.
        assert run.ranks[0].write("temperature", 20, 1).status == "LEAT_ERROR_STATE"
    return answer


def test_no_xml_file(tmp_path):
    with Run(tmp_path, "") as run:
        answer = run.ranks[0].call("init", "nowhere.xml")
        assert answer.status == "LEAT_ERROR_CONFIG" and "nowhere.xml" in answer.error


def test_malformed_xml_is_refused_with_its_place_on_every_rank(tmp_path):
    init_fails(tmp_path, "<simulation name='x'>\n  <data>\n</simulation>", "LEAT_ERROR_CONFIG", "run.xml:3:", ranks=2)


def test_all_errors_of_the_xml_come_at_once(tmp_path):
    bad = xml('<variable name="a" layout="nope"/><variable name="b" layuot="row"/>')
    init_fails(tmp_path, bad, "LEAT_ERROR_CONFIG", "nope", "layuot", "did you mean")


def test_an_unknown_variable_is_named_with_the_nearest_one_and_the_run_goes_on(tmp_path):
    with Run(tmp_path, xml(ROW)) as run:
        (rank,) = run.init()
        answer = rank.write("temprature", 20, 1)
        assert answer.status == "LEAT_ERROR_UNKNOWN_NAME" and 'did you mean "temperature"' in answer.error
        assert rank.write("temperature", 20, 1).ok
        rank.end()
        (end,) = run.finalize()
        assert end.status == "LEAT_ERROR_LOST" and "temprature" in end.error
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(file["temperature"][0].reshape(-1), data(5, "i4", 1))


def test_a_layout_that_needs_a_parameter_never_set_names_it(tmp_path):
    free = '<parameter name="nx" type="int"/><layout name="row" type="int" dimensions="nx*2"/><variable name="a" layout="row"/>'
    with Run(tmp_path, xml(free)) as run:
        (rank,) = run.init()
        answer = rank.write("a", 20, 1)
        assert answer.status == "LEAT_ERROR_SHAPE"
        for part in ('"nx"', "leat_set_int", "nx*2"):
            assert part in answer.error
        rank.must("set_int", "nx", 3)
        assert rank.write("a", 24, 2).ok
        rank.end()
        (end,) = run.finalize()
        assert end.status == "LEAT_ERROR_LOST" and "nx" in end.error
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(file["a"][0].reshape(-1), data(6, "i4", 2))


def test_a_parameter_that_shapes_written_blocks_cannot_change(tmp_path):
    free = '<parameter name="nx" type="int"/><layout name="row" type="int" dimensions="nx"/><variable name="a" layout="row"/>'
    with Run(tmp_path, xml(free)) as run:
        (rank,) = run.init()
        rank.must("set_int", "nx", 5)
        assert rank.write("a", 20, 1).ok
        answer = rank.call("set_int", "nx", 6)
        assert answer.status == "LEAT_ERROR_STATE" and "nx" in answer.error
        run.finish()


def test_a_block_larger_than_the_segment_is_refused_with_both_numbers(tmp_path):
    big = ROW + f'<layout name="big" type="uint8" dimensions="{64 << 20}"/><variable name="big" layout="big"/>'
    with Run(tmp_path, xml(big, buffer="16MiB")) as run:
        (rank,) = run.init()
        answer = rank.write("big", 64 << 20, 1)
        assert answer.status == "LEAT_ERROR_TOO_LARGE"
        assert str(64 << 20) in answer.error and str(16 << 20) in answer.error
        assert rank.write("temperature", 20, 1).ok
        rank.end()
        (end,) = run.finalize()
        assert end.status == "LEAT_ERROR_LOST" and '"big"' in end.error
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(file["temperature"][0].reshape(-1), data(5, "i4", 1))


def test_an_iteration_larger_than_the_segment_is_refused_at_once_not_after_the_timeout(tmp_path):
    big = '<layout name="big" type="uint8" dimensions="3*1048576"/><variable name="big" layout="big"/>'
    with Run(tmp_path, xml(big, buffer="4MiB", timeout="50s")) as run:
        (rank,) = run.init()
        assert rank.write("big", 3 << 20, 1).ok
        answer = rank.write("big", 3 << 20, 2, block=1)
        assert answer.status == "LEAT_ERROR_FULL" and "cannot be stored before it has ended" in answer.error
        rank.end()
        (end,) = run.finalize()
        assert end.status == "LEAT_ERROR_LOST"
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(file["big"][0].reshape(-1), data(3 << 20, "u1", 1))


def test_a_buffer_larger_than_the_shared_memory_is_refused_with_both_numbers(tmp_path):
    buffer = shutil.disk_usage("/dev/shm").total + (1 << 30)
    init_fails(tmp_path, xml(ROW, buffer=f"{buffer}B"), "LEAT_ERROR_MEMORY", "/dev/shm", "free", "make <buffer size")


FOLDERS = ['<store name="out" type="hdf5" folder="a/b/results"/>', '<store name="out" type="hdf5" file="a/b/results/run.h5"/>',
           '<store name="out" type="hdf5" folder="a" file="b/results/run.h5"/>']


@pytest.mark.parametrize("store", FOLDERS)
def test_an_output_folder_that_is_not_there_is_made_with_those_above_it(tmp_path, store):
    with Run(tmp_path, xml(ROW, store=store), ranks=2) as run:
        for rank in run.init():
            assert rank.write("temperature", 20, 1).ok
            rank.end()
        run.finish()
    (file,) = (tmp_path / "a").rglob("run.h5")
    with h5py.File(file) as stored:
        assert same_bits(stored_ranks(stored, "temperature")[1], data(5, "i4", 1))


@pytest.mark.parametrize("store", FOLDERS)
def test_an_output_folder_that_cannot_be_made_is_said_at_leat_init_and_by_leat_check(tmp_path, store):
    (tmp_path / "a").write_text("")
    parts = (r"run\.xml:\d+:\d+: error: store \"out\": the output folder \".*/a/b\S*\" cannot be made: ", '/a": it is not a folder')
    with Run(tmp_path, xml(ROW, store=store), ranks=2) as run:
        began = time.monotonic()
        for rank in run.ranks:
            answer = rank.init()
            assert answer.status == "LEAT_ERROR_CONFIG" and re.search(parts[0], answer.error) and parts[1] in answer.error
        assert time.monotonic() - began < 20
    done = subprocess.run([BUILD / "bin/leat", "check", "run.xml"], cwd=tmp_path, capture_output=True, text=True)
    assert "file=\"a/" in store or re.search(parts[0].split(": error")[0], done.stderr) and "it is not a folder" in done.stderr, done


def limited(which, value):
    """leatd under a limit of the shell, as a script that stands in for it."""
    return f"#!/bin/sh\nulimit -{which} {value}\nexec {BUILD}/bin/leatd \"$@\"\n"


@pytest.mark.parametrize("which, value, status, parts", [
    ("n", 20, "LEAT_ERROR_SYSTEM", ["20 files open (ulimit -n)", "2 ranks needs"]),
    ("v", 120_000, "LEAT_ERROR_MEMORY", ["(ulimit -v)", "MiB needs", "ulimit -v unlimited"])])
def test_limits_that_are_too_small_are_one_clear_error(tmp_path, which, value, status, parts):
    (tmp_path / "small").write_text(limited(which, value))
    (tmp_path / "small").chmod(0o755)
    with Run(tmp_path, xml(ROW), ranks=2, environment={"LEAT_SERVER": str(tmp_path / "small")}) as run:
        for rank in run.ranks:
            answer = rank.init()
            assert answer.status == status, answer
            assert all(part in answer.error for part in parts), answer


def test_with_64_descriptors_a_run_works(tmp_path):
    (tmp_path / "small").write_text(limited("n", 64))
    (tmp_path / "small").chmod(0o755)
    environment = {"LEAT_SERVER": str(tmp_path / "small")}
    with Run(tmp_path, xml(ROW), ranks=2, environment=environment) as run:
        for rank in run.ranks:
            resource.prlimit(rank.process.pid, resource.RLIMIT_NOFILE, (64, 64))
        for rank in run.init():
            assert rank.write("temperature", 20, 1).ok
            rank.end()
        run.finish()


def test_one_store_that_fails_does_not_keep_the_other_from_its_data(tmp_path):
    (tmp_path / "taken.h5").mkdir()
    store = '<store name="bad" type="hdf5" file="taken.h5"/><store name="good" type="hdf5"/>'
    with Run(tmp_path, xml(ROW, store=store)) as run:
        (rank,) = run.init()
        assert rank.write("temperature", 20, 1).ok
        rank.end()
        (answer,) = run.finalize()
        assert answer.status == "LEAT_ERROR_LOST" and "  bad  " in answer.error and "good" not in answer.error
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(file["temperature"][0].reshape(-1), data(5, "i4", 1))


def test_two_runs_at_once_in_one_folder_each_have_a_file(tmp_path):
    with Run(tmp_path, xml(ROW), name="one") as one, Run(tmp_path, xml(ROW), name="two") as two:
        two.ranks[0].run = two
        for seed, run in enumerate((one, two)):
            (rank,) = run.init()
            assert rank.write("temperature", 20, seed).ok
            rank.end()
        for run in (one, two):
            run.finish()
    files = sorted(p for p in tmp_path.iterdir() if p.suffix == ".h5")
    assert len(files) == 2, files
    stored = set()
    for path in files:
        with h5py.File(path) as file:
            stored.add(file["temperature"][0].tobytes())
    assert stored == {data(5, "i4", seed).tobytes() for seed in (0, 1)}


def test_two_runs_with_one_session_name_are_told_apart(tmp_path):
    with Run(tmp_path, xml(ROW), ranks=1) as run:
        (rank,) = run.init()
        other = Run(tmp_path, xml(ROW), name="other")
        other.session, other.runtime = run.session, run.runtime
        other.ranks[0].process.stdin.close()
        other.ranks[0].process.wait()
        other.environment["LEAT_RUNTIME_DIR"] = str(run.runtime)
        other.ranks = [type(rank)(other, 0)]
        answer = other.ranks[0].init()
        assert answer.status == "LEAT_ERROR_STATE" and "LEAT_SESSION" in answer.error
        other.ranks[0].stop_process()
        run.finish()


@pytest.mark.parametrize("kind", ["folder", "link"])
@pytest.mark.parametrize("ending", ["lock", "live", "sock"])
def test_what_stands_in_the_place_of_a_sessions_file_is_named_at_once(tmp_path, ending, kind):
    with Run(tmp_path, xml(ROW)) as run:
        path = run.runtime / f"{run.session}.{ending}"
        run.runtime.mkdir(mode=0o700, exist_ok=True)
        path.mkdir() if kind == "folder" else path.symlink_to(tmp_path / "nowhere")
        began = time.monotonic()
        answer = run.ranks[0].init()
        assert answer.status == "LEAT_ERROR_SYSTEM" and f"{path} is in the way of session" in answer.error, answer
        assert time.monotonic() - began < 30
        path.rmdir() if kind == "folder" else path.unlink()


@pytest.mark.parametrize("kib, what", [(512, "cannot make the shared segment"), (20000, "no room on the disk for its 4000000 bytes")])
def test_a_limit_of_files_is_named(tmp_path, kib, what):
    wide = '<layout name="wide" type="double" dimensions="500000"/><variable name="u" layout="wide"/>'
    limit = ["prlimit", f"--fsize={kib * 1024}"]
    with Run(tmp_path, xml(wide, buffer="9MiB"), prefix=limit) as run:
        (rank,) = run.ranks
        answer = rank.init()
        if answer.ok:
            for number in range(6):
                rank.write("u", 4000000, number)
                rank.end()
            answer = rank.call("finalize")
        assert what in answer.error + run.log() and f"`ulimit -f` allows {kib} KiB" in " ".join(answer.error.split()), answer


def test_a_server_program_that_cannot_be_run_is_named(tmp_path):
    with Run(tmp_path, xml(ROW), environment={"LEAT_SERVER": "/no/such/leatd"}) as run:
        answer = run.ranks[0].init()
        assert answer.status == "LEAT_ERROR_SERVER" and "/no/such/leatd" in answer.error


def test_a_server_program_that_is_something_else_is_not_waited_for(tmp_path):
    with Run(tmp_path, xml(ROW), environment={"LEAT_SERVER": "/bin/true"}) as run:
        answer = run.ranks[0].init()
        assert answer.status == "LEAT_ERROR_SERVER" and "before it was ready" in answer.error


def test_a_log_file_that_cannot_be_written_is_refused_at_the_start(tmp_path):
    init_fails(tmp_path, xml(ROW, log='<log file="run.xml/leat.log"/>'), "LEAT_ERROR_CONFIG", "run.xml/leat.log")


def test_values_of_the_wrong_type_or_name_are_refused(tmp_path):
    free = ROW + '<parameter name="nx" type="int" value="1"/><parameter name="dt" type="double"/>'
    with Run(tmp_path, xml(free)) as run:
        (rank,) = run.init()
        wrong = rank.call("set_double", "nx", 1.5)
        assert wrong.status == "LEAT_ERROR_TYPE" and "leat_set_int" in wrong.error
        unknown = rank.call("set_int", "nz", 1)
        assert unknown.status == "LEAT_ERROR_UNKNOWN_NAME" and '"nx"' in unknown.error
        rank.must("set_double", "dt", 0.5)
        run.finish()


def test_extents_and_positions_that_do_not_fit_are_refused(tmp_path):
    grids = """<layout name="grid" type="int" dimensions="2,2" global="4,4"/><variable name="g" layout="grid"/>
               <layout name="some" type="int" dimensions="?,2"/><variable name="p" layout="some"/>"""
    with Run(tmp_path, xml(grids)) as run:
        (rank,) = run.init()
        assert rank.write("p", 16, 1).status == "LEAT_ERROR_SHAPE"  # no extent yet
        for extent in ("3,3", "-1,2"):
            rank.call("set_extent", "p", 0, extent)
            assert rank.write("p", 16, 1).status == "LEAT_ERROR_SHAPE", extent
        rank.call("set_position", "g", 0, "3,0")
        outside = rank.write("g", 16, 1)
        assert outside.status == "LEAT_ERROR_SHAPE" and "global" in outside.error
        rank.must("set_position", "g", 0, "2,2")
        assert rank.write("g", 16, 2).ok
        assert run.finalize()[0].status == "LEAT_ERROR_LOST"
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(file["g"][0, 2:, 2:].reshape(-1), data(4, "i4", 2))

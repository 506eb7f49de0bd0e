# SPDX-License-Identifier: Apache-2.0
"""Arrays under names that the XML does not declare: ignored, warned of, or stored as they come; bad ones; and when leatd is killed."""
import csv
import os
import re
import signal
import subprocess
import sys

import h5py
import numpy as np
import pytest
import xarray
from leat_run import BUILD, Run, data, same_bits, xml

DOUBLE, INT, FLOAT = 10, 3, 9  # leat_type
ROW = '<layout name="row" type="uint8" dimensions="8" names="x"/><variable name="a" layout="row"/>'
OPEN = '<layout name="open" type="double" dimensions="?,3"/><variable name="o" layout="open"/>'
OUT = '<store name="out" type="hdf5"/>'
LIBRARY = f"{BUILD}/lib/leat/test"


def described(policy, inside=ROW, buffer="16MiB", store=OUT, when_full="wait", timeout="10s"):
    text = xml(inside, buffer=buffer, store=store, timeout=timeout)
    text = text.replace("<data>", f'<data undeclared="{policy}">' if policy else "<data>")
    return text.replace("<buffer ", f'<buffer when-full="{when_full}" ')


def doubles(shape, seed):
    return data(int(np.prod(shape)), "f8", seed).reshape(shape)


def write(rank, name, shape, seed, type_=DOUBLE, size=8):
    extents = ",".join(map(str, shape)) or "-"
    return rank.call("write_any", name, type_, extents, int(np.prod(shape)) * size, seed)


def group_of(file, rank=0):
    return file[f"products/undeclared@{rank}"]


def check(folder, lines):
    """What `leat check` says of these lines within <data>."""
    path = folder / "pasted.xml"
    path.write_text(xml(lines))
    return subprocess.run([BUILD / "bin/leat", "check", path], capture_output=True, text=True)


def lines_in(log, name):
    """The lines to paste that the log shows of a name."""
    (found,) = re.findall(rf'"{re.escape(name)}" is not declared in run.xml: .*?put this into <data>: (<.*>)', log)
    return found


@pytest.mark.parametrize("policy", ["", "warn"])
def test_an_undeclared_array_is_not_stored_and_the_log_shows_once_what_declares_it(tmp_path, policy):
    with Run(tmp_path, described(policy), 2) as run:
        run.init()
        for iteration in range(3):
            for rank in run.ranks:
                assert rank.write("a", 8, iteration).ok
                answer = write(rank, "flux/q", (4, 3), iteration)
                assert answer.status == "LEAT_UNWANTED" and '"flux/q" is not declared in run.xml' in answer.error
                rank.end()
        run.finish()
    log = run.log()
    pasted = lines_in(log, "flux/q")
    assert pasted == '<group name="flux"><variable name="q" type="double" dimensions="4,3"/></group>'
    assert check(tmp_path, pasted).returncode == 0
    assert re.search(r'warning.*ranks 0-1: leat_write_any: "flux/q"', log)
    assert "3 arrays of 1 name that run.xml does not declare are not stored" in log
    with h5py.File(tmp_path / "run.h5") as file:
        assert "products" not in file and file["iteration"][:].tolist() == [0, 1, 2]


def test_what_is_pasted_stores_the_array(tmp_path):
    with Run(tmp_path, described("warn")) as run:
        run.init()
        write(run.ranks[0], "u", (4, 3), 1)
        run.finish()
    folder = tmp_path / "again"
    folder.mkdir()
    with Run(folder, described("warn", ROW + lines_in(run.log(), "u"))) as run:
        run.init()
        assert write(run.ranks[0], "u", (4, 3), 1).ok
        run.ranks[0].end()
        run.finish()
    with h5py.File(folder / "run.h5") as file:
        assert same_bits(file["u"][0], doubles((4, 3), 1))


def test_ignored_arrays_are_counted_at_the_end_and_nothing_else_is_said(tmp_path):
    with Run(tmp_path, described("ignore")) as run:
        (rank,) = run.init()
        for iteration in range(4):
            assert write(rank, "u", (2,), iteration).status == write(rank, "v", (3,), iteration).status == "LEAT_UNWANTED"
            rank.end()
        run.finish()
    log = run.log()
    assert "8 arrays of 2 names that run.xml does not declare are not stored" in log
    assert "warning" not in log and log.count("does not declare") == 1 and '"u"' not in log


def test_accepted_arrays_are_stored_bit_for_bit_with_their_own_shape_on_each_rank(tmp_path):
    shapes = [(4, 3), (5, 3), (1, 3)]
    with Run(tmp_path, described("accept"), 3) as run:
        run.init()
        for iteration in range(5):
            for rank in run.ranks:
                assert rank.write("a", 8, iteration).ok
                assert write(rank, "u", shapes[rank.number], 100 * rank.number + iteration).ok
                assert write(rank, "flux/n", (), iteration, INT, 4).ok
                rank.end()
        run.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        for rank, shape in enumerate(shapes):
            group = group_of(file, rank)
            assert group["iteration"][:].tolist() == list(range(5)) and group["u"].dtype == np.float64
            for iteration in range(5):
                assert same_bits(group["u"][iteration], doubles(shape, 100 * rank + iteration))
                assert same_bits(group["flux.n"][iteration], data(1, "i4", iteration)[0])
    opened = xarray.open_dataset(tmp_path / "run.h5", engine="h5netcdf", group="products/undeclared@1")
    assert opened["u"].shape == (5, 5, 3) and opened["u"].dims[0] == "iteration"
    log = run.log()
    where = r'"u" is not declared in run.xml: it is stored as it comes, in products/undeclared@\d/u'
    assert re.search("ranks 0-2: leat_write_any: " + where, log)
    assert check(tmp_path, lines_in(log, "flux/n")).returncode == 0 and "not stored" not in log


def test_a_declared_name_is_written_as_by_leat_write_once_it_is_what_is_declared(tmp_path):
    with Run(tmp_path, described("accept", ROW + OPEN)) as run:
        (rank,) = run.init()
        assert write(rank, "o", (2, 3), 7).ok and write(rank, "a", (8,), 8, 5, 1).ok
        wrong_type, wrong_shape = write(rank, "o", (2, 3), 7, FLOAT, 4), write(rank, "a", (9,), 8, 5, 1)
        wrong_dims = write(rank, "o", (2,), 7)
        assert wrong_type.status == "LEAT_ERROR_TYPE" and 'declared double' in wrong_type.error and "got float (2, 3)" in wrong_type.error
        assert wrong_shape.status == wrong_dims.status == "LEAT_ERROR_SHAPE"
        assert "uint8 (x=8)" in wrong_shape.error and "got uint8 (9)" in wrong_shape.error
        rank.end()
        (answer,) = run.finalize()
        assert answer.status == "LEAT_ERROR_LOST" and "3 writes" in answer.error
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(file["a"][0], data(8, "u1", 8)) and same_bits(file["o"][:].reshape(2, 3), doubles((2, 3), 7))
        assert "products" not in file


def test_leat_write_of_an_undeclared_name_is_an_error_with_the_nearest_name(tmp_path):
    with Run(tmp_path, described("accept", '<layout name="r" type="uint8" dimensions="8"/><variable name="pressure" layout="r"/>')) as run:
        (rank,) = run.init()
        answer = rank.write("presure", 8, 1)
        assert answer.status == "LEAT_ERROR_UNKNOWN_NAME" and 'did you mean "pressure"' in answer.error
        assert run.finalize()[0].status == "LEAT_ERROR_LOST"


def test_another_shape_or_type_of_a_name_is_an_error_and_the_first_is_stored(tmp_path):
    with Run(tmp_path, described("accept")) as run:
        (rank,) = run.init()
        assert write(rank, "u", (4, 3), 1).ok
        other = write(rank, "u", (3, 4), 2)
        assert other.status == "LEAT_ERROR_SHAPE"
        assert '"u" was double (4, 3) when this rank first wrote it, got double (3, 4): declare it' in other.error
        other = write(rank, "u", (4, 3), 2, FLOAT, 4)
        assert other.status == "LEAT_ERROR_TYPE" and "got float (4, 3)" in other.error
        rank.end()
        assert write(rank, "u", (4, 3), 3).ok
        rank.end()
        (answer,) = run.finalize()
        assert answer.status == "LEAT_ERROR_LOST" and "2 writes of this rank failed" in answer.error
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(group_of(file)["u"][:], np.stack([doubles((4, 3), 1), doubles((4, 3), 3)]))


@pytest.mark.parametrize("policy", ["accept", "warn", "ignore"])
def test_what_makes_no_sense_is_an_error_whatever_becomes_of_undeclared_arrays(tmp_path, policy):
    bad = [(("NULL", DOUBLE, "2", 16, 1), "the array's name is NULL"),
           (("u", 99, "2", 16, 1), "the type 99 is no leat_type"), (("u", 0, "2", 16, 1), "the type 0 is no leat_type"),
           (("u", DOUBLE, "1,1,1,1,1,1,1,1,2", 16, 1), "9 dimensions: an array has 0 to 8"),
           (("u", DOUBLE, "-2", 16, 1), "is (-2): an extent cannot be negative"),
           (("u", DOUBLE, "4611686018427387904,4611686018427387904", 16, 1), "more bytes than 63 bits can count"),
           (("u", DOUBLE, "2", 0, 1), 'the data of "u" are NULL')]
    with Run(tmp_path, described(policy)) as run:
        (rank,) = run.init()
        for words, why in bad:
            answer = rank.call("write_any", *words)
            assert answer.status in ("LEAT_ERROR_ARGUMENT", "LEAT_ERROR_TOO_LARGE") and why in answer.error, (words, answer)
        assert write(rank, "u", (2,), 1).status == ("LEAT_OK" if policy == "accept" else "LEAT_UNWANTED")
        rank.end()
        (answer,) = run.finalize()
        assert answer.status == "LEAT_ERROR_LOST" and f"{len(bad)} writes" in answer.error


@pytest.mark.parametrize("name", ["-u", "u+v", "flux//q", "/q", "q/", "iteration", 201 * "n"])
def test_a_name_that_no_variable_can_have_is_an_error(tmp_path, name):
    with Run(tmp_path, described("accept")) as run:
        (rank,) = run.init()
        answer = write(rank, name, (2,), 1)
        assert answer.status == "LEAT_ERROR_ARGUMENT" and re.search("no name of a variable|letters|numbers of iterations", answer.error)
        assert run.finalize()[0].status == "LEAT_ERROR_LOST"


def test_two_names_that_would_be_one_in_files_are_an_error(tmp_path):
    with Run(tmp_path, described("accept")) as run:
        (rank,) = run.init()
        assert write(rank, "flux/q", (2,), 1).ok
        answer = write(rank, "flux.q", (2,), 2)
        assert answer.status == "LEAT_ERROR_ARGUMENT" and "would have the same name in files" in answer.error
        run.finalize()
    with h5py.File(tmp_path / "run.h5") as file:
        assert same_bits(group_of(file)["flux.q"][0], doubles((2,), 1))


def test_a_rank_has_a_thousand_names_and_the_log_a_hundred(tmp_path):
    with Run(tmp_path, described("accept", buffer="128MiB")) as run:
        (rank,) = run.init()
        rank.must_all([("write_any", f"u{i}", DOUBLE, "1", 8, i) for i in range(1000)])
        answer = write(rank, "one_more", (1,), 1)
        assert answer.status == "LEAT_ERROR_ARGUMENT" and "one name more than the 1000 that a rank may have" in answer.error
        assert write(rank, "u0", (1,), 7).ok, "those that are there go on, and replace what was written before"
        rank.end()
        assert run.finalize()[0].status == "LEAT_ERROR_LOST"
    log = run.log()
    assert log.count("put this into <data>") == 100 and "from here on they are not listed" in log
    with h5py.File(tmp_path / "run.h5") as file:
        group = group_of(file)
        assert len([name for name in group if re.fullmatch(r"u\d+", name)]) == 1000
        assert same_bits(group["u0"][0], data(1, "f8", 7)) and same_bits(group["u999"][0], data(1, "f8", 999))


def test_an_array_that_never_fits_is_an_error_with_both_numbers(tmp_path):
    with Run(tmp_path, described("accept", buffer="8MiB")) as run:
        (rank,) = run.init()
        answer = write(rank, "u", (2 << 20,), 1)
        assert answer.status == "LEAT_ERROR_TOO_LARGE" and "16 MiB" in answer.error and "8 MiB" in answer.error
        run.finalize()


def test_an_iteration_that_has_no_room_is_dropped_with_what_was_written_undeclared(tmp_path):
    with Run(tmp_path, described("accept", buffer="8MiB", when_full="drop-iteration", timeout="2s")) as run:
        (rank,) = run.init()
        statuses = []
        for iteration in range(3):
            statuses += [write(rank, f"u{i}", (256, 1024), iteration).status for i in range(6 if iteration == 1 else 2)]
            rank.end()
        run.finalize()
    assert "LEAT_DROPPED" in statuses and set(statuses) <= {"LEAT_OK", "LEAT_DROPPED"}
    with h5py.File(tmp_path / "run.h5") as file:
        assert group_of(file)["iteration"][:].tolist() == [0, 2]


def test_memory_comes_back_when_arrays_are_stored(tmp_path):
    """Ten times what the buffer has."""
    with Run(tmp_path, described("accept", buffer="8MiB"), 2) as run:
        run.init()
        for iteration in range(20):
            for rank in run.ranks:
                assert write(rank, "u", (256, 1024), iteration + rank.number).ok
                rank.end()
        run.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        for rank in range(2):
            for iteration in range(20):
                assert same_bits(group_of(file, rank)["u"][iteration], doubles((256, 1024), iteration + rank))


def test_every_of_a_store_holds_for_undeclared_arrays_too(tmp_path):
    with Run(tmp_path, described("accept", store='<store name="out" type="hdf5" every="3"/>')) as run:
        (rank,) = run.init()
        for iteration in range(7):
            assert write(rank, "u", (2,), iteration).ok
            rank.end()
        run.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        assert group_of(file)["iteration"][:].tolist() == [0, 3, 6]


def test_leatd_is_killed_while_ranks_write_and_none_is_lost_or_twice_in_the_file(tmp_path):
    """Before, and behind, what the iteration's ranks have written."""
    with Run(tmp_path, described("accept"), 2) as run:
        first, second = run.init()
        for iteration in range(8):
            assert write(first, "u", (4, 3), iteration).ok and write(first, "v", (2,), iteration).ok
            if iteration in (2, 5):
                os.kill(run.server(), signal.SIGKILL)
            assert write(second, "u", (5, 3), iteration).ok
            first.end()
            second.end()
        run.finish()
    with h5py.File(tmp_path / "run.h5") as file:
        for rank, shape in ((0, (4, 3)), (1, (5, 3))):
            group = group_of(file, rank)
            assert group["iteration"][:].tolist() == list(range(8)), run.log()
            for iteration in range(8):
                assert same_bits(group["u"][iteration], doubles(shape, iteration))
        for iteration in range(8):
            assert same_bits(group_of(file)["v"][iteration], doubles((2,), iteration))
    assert "nothing lost" in run.log()


@pytest.mark.parametrize("first", ["hdf5", "subscriber"])
def test_leatd_is_killed_while_undeclared_arrays_are_passed_on_and_none_is_lost_or_twice_in_the_file(tmp_path, first):
    subscriber = (f'<store name="sub" library="{LIBRARY}/publishing.so" products="*"><option name="file" value="got.txt"/>'
                  '<option name="kill" value="3"/></store>')
    with Run(tmp_path, described("accept", store=OUT + subscriber if first == "hdf5" else subscriber + OUT)) as run:
        (rank,) = run.init()
        for iteration in range(8):
            assert rank.write("a", 8, iteration).ok and write(rank, "u", (4, 3), iteration).ok
            rank.end()
        run.finish()
    assert (tmp_path / "got.txt.killed").exists(), run.log()
    with h5py.File(tmp_path / "run.h5") as file:
        assert group_of(file)["iteration"][:].tolist() == file["iteration"][:].tolist() == list(range(8))
        assert same_bits(group_of(file)["u"][:], np.stack([doubles((4, 3), i) for i in range(8)]))


def test_a_rank_that_is_killed_leaves_what_it_had_written(tmp_path):
    with Run(tmp_path, described("accept"), 2) as run:
        first, second = run.init()
        for rank in run.ranks:
            assert write(rank, "u", (3,), rank.number).ok
        second.kill()
        first.end()
        run.finalize([first])
    with h5py.File(tmp_path / "run.h5") as file:
        for rank in range(2):
            assert same_bits(group_of(file, rank)["u"][0], doubles((3,), rank))


def test_a_script_has_the_arrays_of_each_rank_by_its_name(tmp_path):
    (tmp_path / "analysis").mkdir()
    (tmp_path / "analysis/each.py").write_text("""
import leat

@leat.on_iteration(products="undeclared@*/*", publishes=["undeclared_0_q", "undeclared_1_q"])
def each(ds, ctx):
    for name in ds:
        ctx.scalar(str(name).replace("/", "_").replace("@", "_"), float(ds[name].sum()))
""")
    text = described("accept").replace("</simulation>", f"""<scripts interpreter="{sys.executable}">
        <folder path="analysis" when-slow="wait"/></scripts></simulation>""")
    with Run(tmp_path, text, ranks=2) as run:
        run.init()
        for number in range(2):
            for rank in run.ranks:
                assert write(rank, "q", (3,), 10 * number + rank.number).ok
                rank.end()
        run.finish()
        log = run.log()
    assert (tmp_path / "run-scripts/each.csv").exists(), log
    with open(tmp_path / "run-scripts/each.csv") as file:
        rows = [{name: text for name, text in row.items() if text} for row in csv.DictReader(file)]
    found = {(int(row.pop("iteration")), name): float(value) for row in rows for name, value in list(row.items()) if name != "iteration"}
    assert found == {(number, f"undeclared_{rank}_q"): doubles((3,), 10 * number + rank).sum() for number in (0, 1) for rank in (0, 1)}, log

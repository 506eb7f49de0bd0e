# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of whole runs, brought back into runs with other numbers of ranks and other blocks; kills, damage, two places."""
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import threading
import time

import numpy as np
import pytest
from checkpoint_run import (
    GHOSTS,
    GLOBAL,
    blocks_of,
    check_read,
    data_xml,
    doomed,
    end_all,
    place,
    published,
    read,
    restart,
    seed_of,
    write_checkpoint,
    written,
)
from leat_run import BUILD, LIMIT, Run, data, same_bits, xml

PAGE = pathlib.Path(__file__).parents[2] / "docs/reference/checkpoint.md"
FOLDER = "run.checkpoint"
OTHER_GHOSTS = ((2, 0), (0, 3))


def text(store="", keep=2, storage="", **more):
    return xml(data_xml(keep, store, **more), store=storage)


def run_with_checkpoints(folder, steps, ranks=4, xml_text=None, ghosts=GHOSTS, size=GLOBAL, environment=None, name="run"):
    """Iterations up to the last of `steps`, in which it writes."""
    with Run(folder, xml_text or text(), ranks=ranks, environment=environment, name=name) as run:
        for step in range(restart(run), max(steps) + 1):
            if step in steps:
                write_checkpoint(run, step, ghosts, size, end=False)
            end_all(run)
        run.finish()
    return run


@pytest.fixture(scope="module")
def by_four(tmp_path_factory):
    folder = tmp_path_factory.mktemp("by_four")
    run_with_checkpoints(folder, [2, 5])
    return folder


def copied(folder, to):
    shutil.copytree(folder, to, dirs_exist_ok=True)
    return to


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_what_four_ranks_wrote_is_read_by_any_number_bit_for_bit(by_four, tmp_path, ranks):
    with Run(copied(by_four, tmp_path), text(), ranks=ranks) as run:
        assert restart(run) == 6
        check_read(run, 4, 5)
        run.finish()


@pytest.mark.parametrize("before, after", [(GHOSTS, OTHER_GHOSTS), (OTHER_GHOSTS, ((0, 0), (0, 0)))])
def test_ghosts_may_be_others_than_when_it_was_written(tmp_path, before, after):
    run_with_checkpoints(tmp_path, [0], xml_text=text(ghosts=before), ghosts=before)
    with Run(tmp_path, text(ghosts=after), ranks=3) as run:
        assert restart(run) == 1
        check_read(run, 4, 0, before, after)
        run.finish()


def test_blocks_larger_than_a_piece_are_read_whole_and_in_parts(tmp_path):
    size = (700, 610)  # 3.4 MB: pieces end in the midst of rows
    run_with_checkpoints(tmp_path, [0], ranks=2, xml_text=text(size=size), size=size)
    for ranks in (1, 3, 2):
        with Run(tmp_path, text(size=size), ranks=ranks) as run:
            restart(run)
            check_read(run, 2, 0, size=size)
            run.finish()


def test_a_variable_without_a_global_array_is_of_its_rank(by_four, tmp_path):
    with Run(copied(by_four, tmp_path), text(), ranks=4) as run:
        restart(run)
        for rank in run.ranks:
            place(rank, "checkpoint/own", None, (5 + rank.number,))
            answer, got = read(rank, "checkpoint/own", 4 * (5 + rank.number))
            assert answer.ok and got == data(5 + rank.number, "f4", seed_of("own", rank.number, 5)).tobytes()
        run.finish()
    with Run(tmp_path, text(), ranks=2) as run:
        restart(run)
        place(run.ranks[0], "checkpoint/own", None, (5,))
        answer, got = read(run.ranks[0], "checkpoint/own", 20)
        assert answer.status == "LEAT_ERROR_SHAPE" and "of 4 ranks, this run of 2" in answer.error, answer
        assert "the array is as it was" in answer.error and got == b"\x5a" * 20
        run.finish()


def test_mistakes_are_told_with_what_was_written(by_four, tmp_path):
    other = text().replace('global="23,17"', 'global="23,18"', 1).replace('type="int" dimensions', 'type="float" dimensions') \
        .replace('name="own" layout', 'name="owns" layout')
    with Run(copied(by_four, tmp_path), other, ranks=1) as run:
        (rank,) = run.init()
        assert rank.must("restart_step").value == 6
        place(rank, "checkpoint/u", (0, 0), (26, 21))
        place(rank, "checkpoint/k", (0, 0), (23, 17))
        place(rank, "checkpoint/owns", None, (5,))
        for name, bytes_, status, words in (
                ("u", 8 * 26 * 21, "SHAPE", ["(23, 17)", "(23, 18)", "as it was"]), ("k", 4 * 23 * 17, "TYPE", ["int32", "float32"]),
                ("owns", 20, "UNKNOWN_NAME", ['did you mean "checkpoint/own"'])):
            answer, got = read(rank, f"checkpoint/{name}", bytes_)
            assert answer.status == f"LEAT_ERROR_{status}" and all(word in answer.error for word in words), answer
            assert got == b"\x5a" * bytes_
        assert rank.call("read", "checkpoint/v", 0, 8, "none").status == "LEAT_ERROR_UNKNOWN_NAME"
        run.finish()


def test_without_a_checkpoint_the_run_begins_at_0_and_says_why(tmp_path):
    with Run(tmp_path, text()) as run:
        assert restart(run) == 0
        place(run.ranks[0], "checkpoint/own", None, (5,))
        answer, _ = read(run.ranks[0], "checkpoint/own", 20)
        assert answer.status == "LEAT_ERROR_STATE" and FOLDER in answer.error and "leat_restart_step gives 0" in answer.error
        run.finish()
    with Run(tmp_path, xml('<layout name="l" type="int" dimensions="4"/><variable name="v" layout="l"/>'), name="none") as run:
        assert restart(run) == 0
        answer, _ = read(run.ranks[0], "v", 16)
        assert answer.status == "LEAT_ERROR_STATE" and 'keep="2"' in answer.error
        run.finish()


def test_it_comes_before_the_first_write(by_four, tmp_path):
    with Run(copied(by_four, tmp_path), text(), ranks=1) as run:
        (rank,) = run.init()
        rank.end()
        answer = rank.call("restart_step")
        assert answer.status == "LEAT_ERROR_STATE" and "iteration 1 already" in answer.error and rank.call("iteration").value == 1
        run.finish()


def test_parameters_without_a_value_have_the_one_of_then(tmp_path):
    with Run(tmp_path, text(), ranks=2) as run:
        for rank in run.init():
            rank.must("set_double", "t", 0.1)
            rank.must("set_int", "n", 41)
            rank.must("set_int", "fixed", 8)
            rank.must("set_string", "s", "back\\slash")
        write_checkpoint(run, 0)
        run.finish()
    with Run(tmp_path, text(), ranks=3) as run:
        run.init()
        run.ranks[1].must("set_int", "n", 5)
        for rank in run.ranks:
            rank.must("restart_step")
            assert rank.must("get_double", "t").value == 0.1 and rank.must("get_string", "s").value == "back\\slash"
            assert rank.must("get_double", "fixed").value == 7  # the XML has it
        assert [rank.must("get_double", "n").value for rank in run.ranks] == [41, 5, 41]
        run.finish()


@pytest.mark.parametrize("keep", [1, 2, 3])
def test_the_last_are_kept_and_the_newest_is_taken(tmp_path, keep):
    run_with_checkpoints(tmp_path, range(6), ranks=2, xml_text=text(keep=keep))
    assert published(tmp_path / FOLDER) == list(range(6))[-keep:]
    names = sorted(path.suffix for path in (tmp_path / FOLDER).glob("checkpoint*"))
    assert names == [".data"] * keep + [".index"] * keep


def test_restarts_follow_each_other_with_other_numbers_of_ranks(tmp_path):
    before = 0
    for turn, ranks in enumerate((4, 3, 8, 1, 2)):
        with Run(tmp_path, text(), ranks=ranks, name=f"run{turn}") as run:
            step = restart(run)
            assert step == 2 * turn
            if turn:
                check_read(run, before, step - 1)
            end_all(run)
            write_checkpoint(run, step + 1)
            run.finish()
        before = ranks


def test_a_run_that_begins_anew_outdates_what_was_there(tmp_path):
    run_with_checkpoints(tmp_path, [3, 7], ranks=2)
    assert published(tmp_path / FOLDER) == [3, 7]
    run_with_checkpoints(tmp_path, [3], ranks=3, environment={"LEAT_RESTART": "off"})
    with Run(tmp_path, text(), ranks=2) as run:
        assert restart(run) == 4
        check_read(run, 3, 3)
        run.finish()


def test_leat_restart_names_one(tmp_path):
    run_with_checkpoints(tmp_path, [3, 7], ranks=2)
    with Run(tmp_path, text(), ranks=1, environment={"LEAT_RESTART": "3"}) as run:
        assert restart(run) == 4
        check_read(run, 2, 3)
        run.finish()
    for value, words in (("5", ["LEAT_RESTART=5", "7, 3"]), ("last", ["LEAT_RESTART=last", '"off"'])):
        with Run(tmp_path, text(), ranks=1, environment={"LEAT_RESTART": value}, name="run") as run:
            answer = run.ranks[0].init()
            assert answer.status == "LEAT_ERROR_CONFIG" and all(word in answer.error for word in words), answer


def test_every_byte_is_where_the_page_says(by_four, tmp_path):
    program = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.S)[1]
    whole = written(4, 5)
    folder = copied(by_four, tmp_path)
    scope = {}
    exec(program.replace("heat.checkpoint", str(folder / FOLDER)), scope)  # noqa: S102  the page is ours
    assert same_bits(scope["temperature"], whole[0]) and same_bits(scope["read"]("checkpoint/k"), whole[1])


# Damage

def newest(folder, ending):
    return max(pathlib.Path(folder).glob(f"checkpoint-*{ending}"))


@pytest.mark.parametrize("damage", ["cut_data", "cut_index", "flip_index", "no_data", "no_index", "empty_index"])
def test_what_is_cut_off_or_gone_is_never_the_newest(by_four, tmp_path, damage):
    folder = copied(by_four, tmp_path) / FOLDER
    what, ending = damage.split("_")
    path = newest(folder, f".{ending}")
    whole = path.read_bytes()
    if what == "cut":
        path.write_bytes(whole[:-1])
    elif what == "flip":
        path.write_bytes(whole[:300] + bytes([whole[300] ^ 1]) + whole[301:])
    elif what == "empty":
        path.write_bytes(b"")
    else:
        path.unlink()
    with Run(tmp_path, text(), ranks=2) as run:
        assert restart(run) == 3
        check_read(run, 4, 2)
        run.finish()
    if damage != "no_index":  # then there is none
        assert "checkpoint of iteration 5 is not taken" in run.log(), run.log()
    assert "checkpoint of iteration 2" in run.log()


def test_a_flipped_byte_is_found_where_it_is_read(by_four, tmp_path):
    path = newest(copied(by_four, tmp_path) / FOLDER, ".data")
    whole = bytearray(path.read_bytes())
    whole[20] ^= 4
    path.write_bytes(whole)
    with Run(tmp_path, text(), ranks=4) as run:
        assert restart(run) == 6
        answers = []
        for rank, (position, extent) in zip(run.ranks, blocks_of(4)):
            shape = tuple(n + low + high for n, (low, high) in zip(extent, GHOSTS))
            place(rank, "checkpoint/u", position, shape)
            answers.append(read(rank, "checkpoint/u", 8 * int(np.prod(shape)))[0])
        bad = [answer for answer in answers if not answer.ok]
        assert bad and all(a.status == "LEAT_ERROR_SYSTEM" and str(path) in a.error and "checksum" in a.error for a in bad), answers
        assert all("in part" in a.error or "as it was" in a.error for a in bad)
        run.finish()


# Two places

def two_places(folder, **more):
    return text(store=' store="safe"', storage=f'<store name="out" type="hdf5"/><store name="safe" type="checkpoint" '
                f'folder="{folder}/disk" copy="{folder}/shared"/>', **more)


@pytest.mark.parametrize("lost", ["disk", "shared", "byte", None])
def test_two_places_are_as_good_as_the_better_one(tmp_path, lost):
    run_with_checkpoints(tmp_path, [1, 2, 4], xml_text=two_places(tmp_path))
    assert published(tmp_path / "disk") == published(tmp_path / "shared") == [2, 4]
    for one, other in zip(sorted((tmp_path / "disk").glob("check*")), sorted((tmp_path / "shared").glob("check*"))):
        assert one.name == other.name and one.read_bytes() == other.read_bytes()
    if lost == "byte":
        path = newest(tmp_path / "disk", ".data")
        path.write_bytes(b"\xff" * path.stat().st_size)
    elif lost:
        shutil.rmtree(tmp_path / lost)
    with Run(tmp_path, two_places(tmp_path), ranks=3) as run:
        assert restart(run) == 5
        check_read(run, 4, 4)
        run.finish()


def test_a_second_place_that_cannot_be_written_is_told_and_the_first_is_there(tmp_path):
    with Run(tmp_path, two_places(tmp_path), ranks=2) as run:
        restart(run)
        write_checkpoint(run, 0)
        for _ in range(2):
            end_all(run)
        until = time.monotonic() + LIMIT
        while published(tmp_path / "shared") != [0]:
            assert time.monotonic() < until, "the checkpoint does not come to its second place"
            time.sleep(0.02)
        (tmp_path / "shared").rename(tmp_path / "gone")
        (tmp_path / "shared").write_text("a file")
        write_checkpoint(run, 3)
        run.finalize()
    assert published(tmp_path / "disk")[-1] == 3
    with Run(tmp_path, two_places(tmp_path).replace("/shared", "/gone"), ranks=1, name="run") as run:
        assert restart(run) == 4
        run.finish()


def test_where_there_is_no_second_place_at_all_checkpoints_are_in_the_first(tmp_path):
    (tmp_path / "shared").write_text("a file")
    with Run(tmp_path, two_places(tmp_path), ranks=2) as run:
        restart(run)
        write_checkpoint(run, 0)
        said = run.finalize()[0]
    assert said.status == "LEAT_ERROR_LOST" and "/shared" in said.error, said
    assert published(tmp_path / "disk") == [0] and f"checkpoints are in {tmp_path}/disk alone" in run.log()
    with Run(tmp_path, two_places(tmp_path), ranks=1) as run:
        assert restart(run) == 1
        check_read(run, 2, 0)
        assert run.finalize()[0].status == "LEAT_ERROR_LOST"


# Kills

def test_a_killed_server_is_followed_by_one_that_goes_on(tmp_path):
    with Run(tmp_path, text(), ranks=2) as run:
        run.init()
        for step in range(4):
            write_checkpoint(run, step)
        os.kill(run.server(), signal.SIGKILL)
        for step in range(4, 8):
            write_checkpoint(run, step)
        run.finish()
    assert published(tmp_path / FOLDER) == [6, 7]
    with Run(tmp_path, text(), ranks=3) as run:
        assert restart(run) == 8
        check_read(run, 2, 7)
        run.finish()


def test_whatever_moment_all_are_killed_the_newest_is_whole(tmp_path):
    """Each run goes on where the one before was killed; what was published is never lost, and never wrong."""
    dice, writers, reached = random.Random(4), {}, 0
    until = time.monotonic() + 25
    turns = 0
    while turns < 5 or (turns < 40 and time.monotonic() < until):
        ranks = dice.choice([1, 2, 3])
        with doomed(Run(tmp_path, text(), ranks=ranks)) as run:
            step = restart(run)
            assert step >= reached, (step, reached, run.log())
            if step:
                check_read(run, writers[step - 1], step - 1)
            for more in range(dice.randrange(1, 12)):
                writers[step + more] = ranks
                write_checkpoint(run, step + more)
            time.sleep(dice.random() * 0.01)
            seen = published(tmp_path / FOLDER)
            run.kill_all()
            reached = seen[-1] + 1 if seen else 0
        turns += 1
    with Run(tmp_path, text(), ranks=2) as run:
        step = restart(run)
        assert step >= reached > 10
        check_read(run, writers[step - 1], step - 1)
        run.finish()


def killed_with_checkpoints_in_memory(folder):
    """A run whose server has stored none of the last two of three."""
    with doomed(Run(folder, text(), ranks=2)) as run:
        run.init()
        write_checkpoint(run, 0)
        os.kill(run.server(), signal.SIGSTOP)
        for step in (1, 2):
            write_checkpoint(run, step)
        for rank in run.ranks:
            rank.kill()
    return run


def test_what_a_killed_run_had_in_memory_is_the_newest(tmp_path):
    killed_with_checkpoints_in_memory(tmp_path)
    with Run(tmp_path, text(), ranks=3) as run:
        assert restart(run) == 3, run.log()
        check_read(run, 2, 2)
        run.finish()


def test_what_another_run_stores_of_a_killed_one_is_waited_for(tmp_path):
    killed = killed_with_checkpoints_in_memory(tmp_path)
    (segment,) = (path for path in killed.segments() if path.suffix != ".sums")
    words = [BUILD / "bin/leatd", "--drain", segment.name]
    storing = subprocess.Popen(words, env=killed.environment, stderr=subprocess.DEVNULL)  # as the start of a run elsewhere does
    inode = f":{segment.stat().st_ino} "
    while inode not in pathlib.Path("/proc/locks").read_text() and storing.poll() is None:
        pass
    storing.send_signal(signal.SIGSTOP)
    with Run(tmp_path, text(), ranks=3) as run:
        goes_on = threading.Timer(2, storing.send_signal, [signal.SIGCONT])
        goes_on.start()
        assert restart(run) == 3, run.log()
        check_read(run, 2, 2)
        run.finish()
        goes_on.join()
        storing.wait(LIMIT)
        for left in run.runtime.glob(f"{killed.session}*"):
            left.unlink()  # as the start of a later run does


def test_a_rank_that_dies_leaves_no_checkpoint_of_its_last_iteration(tmp_path):
    with Run(tmp_path, text(), ranks=2) as run:
        run.init()
        write_checkpoint(run, 0)
        write_checkpoint(run, 1, end=False)
        run.ranks[0].end()
        run.ranks[1].kill()
        run.finalize(run.ranks[:1])
    assert published(tmp_path / FOLDER) == [0] and "no checkpoint is made of it" in run.log()


def test_told_to_end_the_server_publishes_what_ranks_have_written(tmp_path):
    with Run(tmp_path, text(), ranks=2) as run:
        run.init()
        write_checkpoint(run, 0)
        write_checkpoint(run, 1)
        os.kill(run.server(), signal.SIGTERM)
        run.finalize()
    assert published(tmp_path / FOLDER) == [0, 1]
    with Run(tmp_path, text(), ranks=1) as run:
        assert restart(run) == 2
        check_read(run, 2, 1)
        run.finish()


def test_a_parameter_tells_all_ranks_in_the_same_iteration_that_the_run_ends(tmp_path):
    telling = xml('<parameter name="ending" type="int" value="0"/>' + data_xml(store=' store="safe"'),
                  store='<store name="safe" type="checkpoint" tells="ending"/>')
    with Run(tmp_path, telling, ranks=3) as run:
        run.init()
        end_all(run)
        os.kill(run.server(), signal.SIGTERM)
        until, told = time.monotonic() + LIMIT, []
        while not told:
            assert time.monotonic() < until
            end_all(run)
            said = [rank.must("get_double", "ending").value for rank in run.ranks]
            assert len(set(said)) == 1, said
            told = [step.value for step in (rank.call("iteration") for rank in run.ranks) if said[0]]
        write_checkpoint(run, told[0])
        run.finalize()
    assert published(tmp_path / FOLDER) == [told[0]]
    with Run(tmp_path, telling, ranks=2) as run:
        assert restart(run) == told[0] + 1
        check_read(run, 3, told[0])
        run.finish()


def test_that_a_run_was_told_to_end_is_not_told_to_the_next_one(tmp_path):
    telling = xml('<parameter name="ending" type="int"/>' + data_xml(store=' store="safe"'),
                  store='<store name="safe" type="checkpoint" tells="ending"/>')
    with Run(tmp_path, telling, ranks=2) as run:
        run.init()
        os.kill(run.server(), signal.SIGTERM)
        until = time.monotonic() + LIMIT
        while not run.ranks[0].call("get_double", "ending").ok:
            assert time.monotonic() < until
            end_all(run)
        write_checkpoint(run, 0)
        run.finalize()
    with Run(tmp_path, telling, ranks=2) as run:
        assert restart(run) > 0
        assert "has no value yet" in run.ranks[0].call("get_double", "ending").error
        run.finish()


def test_ranks_that_do_not_ask_where_to_go_on_are_warned_of(by_four, tmp_path):
    with Run(copied(by_four, tmp_path), text(), ranks=2) as run:
        run.init()
        assert run.ranks[0].must("restart_step").value == 6
        assert run.ranks[0].call("start_at", 3).status == "LEAT_ERROR_STATE"
        assert run.ranks[0].must("restart_step").value == 6
        end_all(run)
        run.finish()
    assert "rank 1 begins with iteration 0, and rank 0 with iteration 6" in run.log() or \
           "rank 0 begins with iteration 6, and rank 1 with iteration 0" in run.log()
    assert "leat_restart_step on all ranks" in run.log()


def test_two_runs_do_not_write_into_one_folder(tmp_path):
    with Run(tmp_path, text(), ranks=1, name="one") as one:
        one.init()
        write_checkpoint(one, 0)
        with Run(tmp_path, text(), ranks=1, name="two") as two:
            two.init()
            write_checkpoint(two, 0)
            assert "another run writes checkpoints" in two.finalize()[0].error
        one.finish()


def test_the_checkpoint_store_takes_what_is_meant_for_it_alone(tmp_path):
    more = '<layout name="l" type="int" dimensions="4"/><variable name="v" layout="l"/>'
    with Run(tmp_path, text(more=more, storage='<store name="out" type="hdf5"/>')) as run:
        (rank,) = run.init()
        for _ in range(3):
            assert rank.write("v", 16, 1).ok
            rank.end()
        write_checkpoint(run, 3)
        run.finish()
    assert published(tmp_path / FOLDER) == [3]


def test_a_rank_reads_with_the_memory_of_its_own_piece(tmp_path):
    """100 MB written by two ranks: one reads a strip, in an address space without room for a quarter of it."""
    size = (4096, 3200)
    whole_xml = text(size=size, ghosts=((0, 0), (0, 0))).replace("16MiB", "512MiB")
    run_with_checkpoints(tmp_path, [0], ranks=2, xml_text=whole_xml, ghosts=((0, 0), (0, 0)), size=size)
    small = whole_xml.replace("512MiB", "16MiB")
    with Run(tmp_path, small, ranks=1) as run:
        (rank,) = run.init()
        assert rank.must("restart_step").value == 1
        import resource
        in_use = int(pathlib.Path(f"/proc/{rank.process.pid}/statm").read_text().split()[0]) * 4096
        resource.prlimit(rank.process.pid, resource.RLIMIT_AS, (in_use + (20 << 20), in_use + (20 << 20)))
        place(rank, "checkpoint/u", (2000, 5), (100, 3000))
        answer, got = read(rank, "checkpoint/u", 8 * 100 * 3000)
        assert answer.ok, answer
        u, _ = written(2, 0, ((0, 0), (0, 0)), size)
        assert same_bits(np.frombuffer(got, "f8").reshape(100, 3000), u[2000:2100, 5:3005])
        run.finish()

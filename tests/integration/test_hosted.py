# SPDX-License-Identifier: Apache-2.0
"""The server on a thread of a rank, as place="thread" and place="none" say: what the process sees of it, and what holds when it ends."""
import os
import pathlib
import re
import signal
import subprocess
import time

import h5py
import pytest
from leat_run import BUILD, LIMIT, Run, await_death, data, same_bits
from leat_run import xml as run_xml
from stored_blocks import stored_ranks

LAYOUT = '<layout name="l" type="double" dimensions="1000"/><variable name="u" layout="l"/>'
SIZE = 8000


def hosted(folder, ranks=1, place="thread", more="", **options):
    xml = run_xml(LAYOUT, **options).replace("<dedicated ", f'<dedicated place="{place}" {more}')
    return Run(folder, xml, ranks)


def seed(rank, iteration):
    return 100 * rank + iteration + 1


def write(ranks, first, count):
    for iteration in range(first, first + count):
        for rank in ranks:
            assert rank.write("u", SIZE, seed(rank.number, iteration)).ok
            rank.start("end_iteration")
        for rank in ranks:
            assert rank.result().ok


def check_stored(path, wanted):
    """wanted: {iteration: ranks}"""
    with h5py.File(path) as file:
        assert list(file["iteration"]) == sorted(wanted)
        for row, iteration in enumerate(sorted(wanted)):
            found = stored_ranks(file, "u", row)
            assert sorted(found) == sorted(wanted[iteration]), iteration
            assert all(same_bits(found[r], data(1000, "f8", seed(r, iteration))) for r in found), iteration


def facts(pid):
    """What other threads see of a server in their process, should it change that."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    lines = dict(re.findall(r"^(Sig(?!Q)\w+|Shd\w+|Umask|Cpus_allowed_list):\s*(\S+)$", status, re.M))
    lines["SigCgt"] = int(lines["SigCgt"], 16) & 0x7fffffff  # the C library takes one more for threads of any kind
    return {**lines, "folder": os.readlink(f"/proc/{pid}/cwd"), "limits": pathlib.Path(f"/proc/{pid}/limits").read_text(),
            "files": len(os.listdir(f"/proc/{pid}/fd")) - sum("leat" in target for target in targets(pid))}


def targets(pid):
    return [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]


@pytest.mark.parametrize("place", ["thread", "none"])
def test_two_runs_in_one_process(tmp_path, place):
    with hosted(tmp_path, place=place) as run:
        for part in range(2):
            (rank,) = run.init()
            assert not run.servers()
            write([rank], 0, 5)
            run.finish()
            check_stored(tmp_path / "run.h5", {i: [0] for i in range(5)})
            os.rename(tmp_path / "run.h5", tmp_path / f"{part}.h5")


def test_other_threads_of_the_process_see_nothing_of_it(tmp_path):
    """Signals, folder, umask, cores, limits and descriptors are those of a run whose server is a process."""
    seen = {}
    for place in ("process", "thread"):
        folder = tmp_path / place
        folder.mkdir()
        with hosted(folder, place=place) as run:
            (rank,) = run.init()
            write([rank], 0, 3)
            seen[place] = facts(rank.process.pid)
            seen[place].pop("folder")
            run.finish()
    assert seen["process"] == seen["thread"]


def test_a_folder_that_the_program_goes_to_is_not_the_servers(tmp_path):
    (tmp_path / "other").mkdir()
    with hosted(tmp_path) as run:
        (rank,) = run.init()
        rank.must("work_in", "other")
        write([rank], 0, 3)
        run.finish()
        assert os.listdir(tmp_path / "other") == [] and (tmp_path / "run.h5").stat().st_mode & 0o777 == 0o666 & ~umask()
        check_stored(tmp_path / "run.h5", {i: [0] for i in range(3)})


def umask():
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


OPEN_FILES = 'for fd in {3..120}; do eval "exec $fd<>own-$fd"; echo mine >&$fd; done; exec "$@"'


def test_files_that_the_program_has_open_are_not_the_servers(tmp_path):
    """A server on a thread has descriptors of its own, whose numbers the program's other files have too."""
    block = 1 << 20  # large enough to go past the page cache
    layout = f'<layout name="l" type="double" dimensions="{block // 8}"/><variable name="u" layout="l"/>'
    store = '<store name="out" type="hdf5"><option name="io" value="direct"/></store>'
    xml = run_xml(layout, store=store).replace("<dedicated ", '<dedicated place="thread" ')
    with Run(tmp_path, xml, prefix=("bash", "-c", OPEN_FILES, "bash")) as run:
        (rank,) = run.init()
        for iteration in range(5):
            assert rank.write("u", block, seed(0, iteration)).ok
            rank.must("end_iteration")
        run.finish()
    own = [path for path in tmp_path.iterdir() if path.name.startswith("own-")]
    assert len(own) == 118 and {path.read_text() for path in own} == {"mine\n"} and {path.stat().st_nlink for path in own} == {1}
    with h5py.File(tmp_path / "run.h5") as file:
        assert all(same_bits(stored_ranks(file, "u", i)[0], data(block // 8, "f8", seed(0, i))) for i in range(5))


def test_a_program_that_ends_without_finalize_has_stored_first(tmp_path):
    with hosted(tmp_path) as run:
        (rank,) = run.init()
        write([rank], 0, 40)
        assert rank.write("u", SIZE, seed(0, 40)).ok  # in an iteration that does not end
        rank.process.stdin.close()
        assert rank.process.wait(LIMIT) == 0
        check_stored(tmp_path / "run.h5", {i: [0] for i in range(41)})


def test_a_killed_host_is_followed_by_a_process(tmp_path):
    with hosted(tmp_path, ranks=2, timeout="20s") as run:
        run.ranks[0].must("init_ranks", run.config, run.session, 0, 2)  # who comes first has it
        run.ranks[1].must("init_ranks", run.config, run.session, 1, 2)
        write(run.ranks, 0, 10)
        run.ranks[0].kill()
        write(run.ranks[1:], 10, 10)
        answers = run.finalize(run.ranks[1:])
        assert len(run.known_servers | set(run.servers())) <= 1
        assert "another one has taken over" in run.ranks[1].stderr() and answers[0].status in ("LEAT_OK", "LEAT_ERROR_LOST"), answers
        check_stored(tmp_path / "run.h5", {i: [0, 1] if i < 10 else [1] for i in range(20)})


@pytest.mark.parametrize("by", ["recover", "next start"])
def test_what_a_killed_process_held_with_its_server_is_stored_later(tmp_path, by):
    with hosted(tmp_path) as run:
        (rank,) = run.init()
        write([rank], 0, 10)
        rank.kill()
        environment = run.environment
        if by == "recover":
            done = subprocess.run([BUILD / "bin/leat", "recover"], cwd=tmp_path, env=environment, capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
        else:
            (tmp_path / "next").mkdir()
            (tmp_path / "next/run.xml").write_text(run_xml(LAYOUT))
            subprocess.run([BUILD / "bin/leat_rank"], cwd=tmp_path / "next", env=environment, check=True,
                           input=b"init run.xml\nfinalize\n", stdout=subprocess.DEVNULL)
        until = time.monotonic() + LIMIT
        while run.segments() or list(run.runtime.glob("*.journal")):  # who stores it removes both
            assert time.monotonic() < until
            time.sleep(0.02)
        check_stored(tmp_path / "run.h5", {i: [0] for i in range(10)})


def test_a_process_that_is_stopped_lets_others_wait_no_longer_than_their_timeout(tmp_path):
    with hosted(tmp_path, ranks=2, timeout="2s", more='mode="sync" ') as run:
        run.ranks[0].must("init_ranks", run.config, run.session, 0, 2)
        run.ranks[1].must("init_ranks", run.config, run.session, 1, 2)
        write(run.ranks, 0, 3)
        os.kill(run.ranks[0].process.pid, signal.SIGSTOP)
        assert run.ranks[1].write("u", SIZE, seed(1, 3)).ok
        assert run.ranks[1].call("end_iteration").status == "LEAT_ERROR_TIMEOUT"
        os.kill(run.ranks[0].process.pid, signal.SIGCONT)
        run.ranks[0].write("u", SIZE, seed(0, 3))
        assert run.ranks[0].call("end_iteration").ok
        run.finish()
        check_stored(tmp_path / "run.h5", {i: [0, 1] for i in range(4)})


def test_a_forked_child_keeps_nothing_of_the_server(tmp_path):
    """Else a child that outlives a killed parent would keep its session from everybody."""
    with hosted(tmp_path) as run:
        (rank,) = run.init()
        write([rank], 0, 5)
        child = rank.must("fork_and_stay").value
        rank.kill()
        done = subprocess.run([BUILD / "bin/leat", "recover"], cwd=tmp_path, env=run.environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        check_stored(tmp_path / "run.h5", {i: [0] for i in range(5)})
        os.kill(child, signal.SIGKILL)
        await_death(child)


def test_with_none_an_iteration_is_stored_when_its_end_returns(tmp_path):
    with hosted(tmp_path, place="none", store='<store name="out" type="hdf5" durability="none"/>') as run:
        (rank,) = run.init()
        for iteration in range(5):
            write([rank], iteration, 1)
            check_stored(tmp_path / "run.h5", {i: [0] for i in range(iteration + 1)})
        run.finish()


def test_an_hdf5_for_several_threads_may_be_the_simulations_too(tmp_path):
    """Debian's is one; what is said of others is in tests/unit/hdf5/own_hdf5."""
    library = subprocess.run(["ldd", BUILD / "lib/leat/plugins/hdf5.so"], capture_output=True, text=True, check=True).stdout
    path = re.search(r"libhdf5(?:_serial)?\.so\S* => (\S+)", library)[1]
    with Run(tmp_path, run_xml(LAYOUT), environment={"LD_PRELOAD": path, "LEAT_PLACE": "thread"}) as run:
        (rank,) = run.init()
        write([rank], 0, 5)
        run.finish()
        check_stored(tmp_path / "run.h5", {i: [0] for i in range(5)})


def test_a_kernel_that_gives_threads_nothing_of_their_own_is_an_error(tmp_path):
    with Run(tmp_path, run_xml(LAYOUT), environment={"LEAT_PLACE": "thread", "LD_PRELOAD": str(BUILD / "lib/no_unshare.so")}) as run:
        answer = run.ranks[0].init()
        assert answer.status == "LEAT_ERROR_SYSTEM" and 'place="process"' in answer.error, answer


def test_the_session_is_listed_and_steered_as_any_other(tmp_path):
    with hosted(tmp_path) as run:
        (rank,) = run.init()
        write([rank], 0, 3)
        listed = subprocess.run([BUILD / "bin/leat", "ls"], env=run.environment, capture_output=True, text=True, check=True).stdout
        assert run.session in listed and "running" in listed, listed
        said = subprocess.run([BUILD / "bin/leat", "ctl", run.session, "status"], env=run.environment, capture_output=True, text=True,
                              check=True).stdout
        assert "running" in said, said
        run.finish()

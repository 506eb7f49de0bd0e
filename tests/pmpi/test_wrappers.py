# SPDX-License-Identifier: Apache-2.0
"""libleat_pmpi: each call of MPI that waits is one idle phase, whatever language it comes from and however it gets there."""
import re
import sys

import pytest
from leat_run import BUILD
from mpis import DOUBLE, HERE, LIBRARY, ROOT, do

# Collectives that no rank leaves before both have entered it, in each program.
MEETINGS = {"c": 10, "90": 4}
PROGRAMS = {"waits.c": "c", "waits_mpifh.f90": "mpif.h", "waits_mpi.f90": "mpi", "waits_f08.f90": "mpi_f08"}


def calls(said):
    found = {int(rank): int(count) for rank, count in re.findall(r"rank (\d): (\d+) calls", said)}
    assert found.keys() == {0, 1}, said
    return sorted(found.values())


def phases(folder):
    """(phases, places, nested, open) of each process."""
    return sorted(tuple(map(int, path.read_text().split())) for path in folder.glob("phases-*"))


def meetings(folder):
    """Of one rank, two, others: of each process."""
    return [tuple(map(int, path.read_text().split())) for path in folder.glob("meetings-*")]


@pytest.mark.parametrize("source", PROGRAMS, ids=PROGRAMS.values())
@pytest.mark.parametrize("way", ["preloaded", "linked"])
def test_each_call_that_waits_is_one_phase_at_a_place_of_its_own(mpi, tmp_path, source, way):
    flags = ("-I", HERE, "-fallow-argument-mismatch") if source.endswith("90") else ()
    program = mpi.compile(source, *flags) if way == "preloaded" else mpi.compile(source, *flags, "-lleat_pmpi", as_=f"{source}.linked")
    preload = (DOUBLE, LIBRARY) if way == "preloaded" else (DOUBLE,)
    said = mpi.run(2, program, cwd=tmp_path, preload=preload, LEAT_TEST_PHASES=tmp_path)
    assert phases(tmp_path) == [(count, count, 0, 0) for count in calls(said)]
    assert meetings(tmp_path) == [(0, MEETINGS[source[-2:].lstrip(".")], 0)] * 2


def test_collectives_of_some_ranks_are_told_as_such(mpi, tmp_path):
    said = mpi.run(2, mpi.compile("parts.c"), cwd=tmp_path, preload=(DOUBLE, LIBRARY), LEAT_TEST_PHASES=tmp_path)
    assert said == "" and meetings(tmp_path) == [(2, 1, 0)] * 2


def test_without_leat_a_program_says_and_does_the_same(mpi, tmp_path):
    program = mpi.compile("waits.c")
    assert calls(mpi.run(2, program, cwd=tmp_path)) == calls(mpi.run(2, program, cwd=tmp_path, preload=()))
    assert [path.name for path in tmp_path.iterdir()] == ["both"]


def test_a_program_of_python_has_its_phases_too(tmp_path):
    from mpis import Mpi
    text = "from mpi4py import MPI\nfor i in range(3): MPI.COMM_WORLD.Barrier()\n"
    Mpi("openmpi", tmp_path).run(2, sys.executable, "-c", text, cwd=tmp_path, preload=(DOUBLE, LIBRARY), LEAT_TEST_PHASES=tmp_path)
    found = phases(tmp_path)
    assert len(found) == 2 and found[0] == found[1] and found[0][0] >= 3 and found[0][2:] == (0, 0)


def test_what_has_no_mpi_runs_as_before(tmp_path):
    assert do("echo", "as before", cwd=tmp_path, LD_PRELOAD=str(LIBRARY)) == "as before\n"
    assert not list(tmp_path.iterdir())


def test_the_table_of_calls_has_their_numbers_of_arguments(mpi, tmp_path):
    do(f"mpicxx.{mpi.name}", "-fsyntax-only", "-std=c++17", "-I", ROOT, HERE / "arguments.cpp", cwd=tmp_path)


def test_it_needs_no_mpi_and_shows_names_of_mpi_only(tmp_path):
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", do("readelf", "-d", LIBRARY, cwd=tmp_path))
    assert {name.split(".")[0] for name in needed} <= {"libleat", "libc", "libgcc_s", "ld-linux-x86-64", "ld-linux-aarch64"}
    names = [line.split()[-1] for line in do("nm", "-D", "--defined-only", LIBRARY, cwd=tmp_path).splitlines()]
    assert len(names) > 400 and all(name.lower().startswith("mpi_") for name in names if name != "sched_yield")


@pytest.fixture
def costs(tmp_path):
    do("c++", "-shared", "-fPIC", "-o", tmp_path / "libno_mpi.so", HERE / "no_mpi.cpp", cwd=tmp_path)
    do("c++", "-o", tmp_path / "costs", HERE / "costs.cpp", "-I", ROOT / "client-api/api", "-L", BUILD / "lib", "-L", tmp_path,
       "-lno_mpi", "-lleat", f"-Wl,-rpath,{BUILD}/lib:{tmp_path}", cwd=tmp_path)
    return tmp_path


def test_a_phase_ends_where_mpi_throws(costs):
    said = do("./costs", 10, cwd=costs, LD_PRELOAD=f"{DOUBLE}:{LIBRARY}", LEAT_TEST_PHASES=str(costs))
    assert said == "an error of MPI\n" and phases(costs) == [(14, 5, 0, 0)]


def test_an_mpi_that_gives_way_sleeps_while_it_waits_for_long(costs):
    do("strace", "-o", "calls", "-E", f"LD_PRELOAD={LIBRARY}", "./costs", 0, cwd=costs)
    within, alone = (costs / "calls").read_text().split("it gives way by itself")
    assert within.count("nanosleep(") > 1 and within.index("sched_yield(") < within.index("nanosleep(")
    assert alone.count("sched_yield(") == 100 and "nanosleep(" not in alone


# Instructions of one call, of a release build; the counts may be bettered, the limits then follow.
MOST = {(): 140, ("costs.xml",): 510}
XML = """<simulation name="costs"><architecture><dedicated cores="1"/><buffer size="16MiB"/></architecture>
<data><layout name="small" type="uint8" dimensions="64"/><variable name="small" layout="small"/></data></simulation>"""


@pytest.mark.parametrize("arguments", MOST, ids=["without leat_init", "after leat_init"])
def test_a_call_costs_few_instructions_where_nothing_harvests(costs, arguments):
    (costs / "costs.xml").write_text(XML)
    do("valgrind", "--tool=callgrind", "--collect-atstart=no", "--callgrind-out-file=cost", "./costs", 1000, *arguments, cwd=costs,
       LD_PRELOAD=str(LIBRARY))
    (total,) = re.findall(r"^(?:summary|totals): (\d+)$", (costs / "cost").read_text(), re.M)[:1]
    print(arguments, int(total) / 1000)
    assert 0 < int(total) <= 1000 * MOST[arguments]

# SPDX-License-Identifier: Apache-2.0
"""What modules in C do wrong is theirs alone: the log names the module, who waits for it leaves the iteration out, and the run goes on."""
import re
import subprocess

import pytest
from graph_run import config, graph_run, module, plan, product, variable, wait_until, write_iterations
from leat_run import BUILD

FAULTY = str(BUILD / "bin/graph_faulty")
LEFT_OUT = [0, 1, 3, 4, 5]
# mode: (iterations that one who waits for it sees, what the log says)
FAULTS = {
    "crash": (LEFT_OUT, r'module "crash", iteration 2: its process was killed by signal 11'),
    "write": (LEFT_OUT, r'module "write", iteration 2: its process was killed by signal 11'),
    "exit": (LEFT_OUT, r'module "exit", iteration 2: its process ended with status 1'),
    "end": ([0, 1], r'module "end" has ended by itself: it has no more turns'),
    "end_at_once": ([0, 1], r'module "end_at_once" has ended by itself: it has no more turns'),
    "silent": ([], r'module "silent" cannot run: .*is no module: it has never called leat_wait\(\): it ended with status 0'),
    "rubbish": (LEFT_OUT, r'module "rubbish", iteration 2: its process said something to leatd that makes no sense'),
    "twice": (list(range(6)), r'module "twice": leat_put: port "sum" has had its array in this turn'),
    "unknown": (LEFT_OUT, r'module "unknown": leat_put: module "unknown" has no output "sun"; did you mean "sum"\?'),
}


def numbers(folder, name):
    try:
        return [int(line.split()[0]) for line in (folder / f"{name}.seen").read_text().splitlines()]
    except FileNotFoundError:
        return []


@pytest.fixture(scope="module")
def faults(tmp_path_factory):
    """All of them in one run: (its folder, its log)."""
    folder = tmp_path_factory.mktemp("faults")
    modules = [module("fine", [FAULTY, "note"], [variable(port="in")])]
    for mode in FAULTS:
        modules += [module(mode, [FAULTY, mode, "2"], [variable()], ["sum"]),
                    module(f"after_{mode}", [FAULTY, "note"], [product(f"{mode}/sum", port="in")])]
    plan(folder, *modules)
    with graph_run(folder, config()) as run:
        for number in range(6):
            write_iterations(run, [number])
            wait_until(lambda upto=number: len(numbers(folder, "fine")) > upto, "the next turn")
    return folder, run.log()


@pytest.mark.parametrize("mode", FAULTS)
def test_a_fault_is_said_and_costs_one_turn(faults, mode):
    folder, log = faults
    iterations, said = FAULTS[mode]
    assert re.search(said, log), log
    assert numbers(folder, f"after_{mode}") == iterations, log


def test_modules_that_do_nothing_wrong_have_all_turns(faults):
    assert numbers(faults[0], "fine") == list(range(6))


def test_outputs_that_nobody_has_read_yet_take_what_memory_allows_and_no_more(tmp_path):
    plan(tmp_path, module("maker", [FAULTY, "large", "50000"], [variable()], ["sum"]),
         module("slow", [FAULTY, "slow", "400"], [product("maker/sum", port="in")]))
    with graph_run(tmp_path, config(scripts='memory="1MiB"')) as run:
        write_iterations(run, range(8))
    statuses = numbers(tmp_path, "maker")
    assert len(statuses) == 8 and statuses[:2] == [0, 0] and -8 in statuses, run.log()  # LEAT_ERROR_FULL
    assert re.search(r'module "maker": leat_put_memory: there is no room for 391 KiB more: what others have yet to read takes '
                     r'781 KiB of the 1 MiB that memory="..." of <scripts> allows', run.log()), run.log()


def test_an_output_that_can_never_fit_says_both_numbers(tmp_path):
    plan(tmp_path, module("maker", [FAULTY, "large", "200000"], [variable()], ["sum"]))
    with graph_run(tmp_path, config(scripts='memory="1MiB"')) as run:
        write_iterations(run, range(2))
    assert numbers(tmp_path, "maker") == [-7, -7]  # LEAT_ERROR_TOO_LARGE
    assert re.search(r"it has 1.5 MiB, and memory=\"...\" of <scripts> allows 1 MiB", run.log()), run.log()


def test_a_program_that_leat_has_not_started_says_what_to_do(tmp_path):
    done = subprocess.run([FAULTY, "note"], cwd=tmp_path, capture_output=True, text=True)
    assert "leat_wait: this program is a module of a graph, which Leat starts" in done.stderr

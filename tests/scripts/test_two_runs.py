# SPDX-License-Identifier: Apache-2.0
"""Two runs of the same XML in one folder: nothing of the first is renamed, truncated or mixed with what is the second's."""
import csv
import json
import os
import re
import signal

import h5py
import pytest
from leat_run import Rank, Run, data, same_bits
from script_run import SIZE, config, last_report, put, wait_until, write_iterations
from without_xarray import without_xarray  # noqa: F401

SCRIPT = """
    class Picture:
        def savefig(self, file, format):
            file.write(b"drawn")
    def process(ds, ctx):
        ctx.scalar("sum", float(ds["a"].view("u1").sum()))
        ctx.store("twice", ds["a"].copy())
        ctx.image("p", Picture())
        print("of", ctx.iteration)
"""


class Second(Run):
    """Shares the folder, has a runtime folder and a rank's error file of its own."""

    def __init__(self, folder, text):
        super().__init__(folder, text, ranks=0)
        self.runtime = self.folder / "r-second"
        self.environment["LEAT_RUNTIME_DIR"] = str(self.runtime)
        rank = Rank(self, 9)  # of which only the file of its errors is called so
        rank.number, rank.stderr = 0, lambda: (self.folder / "rank9.err").read_text()
        self.ranks.append(rank)


def seed_of_first(number, _):
    return 1000 + number


def seed_of_second(number, _):
    return 2000 + number


def check(folder, session, suffix, output, count, seed, log):
    """All of one run: file, table, results, pictures, log, ledger."""
    with h5py.File(folder / f"run{suffix}.h5") as file:
        assert file["iteration"][:].tolist() == list(range(count)) and file["leat/iteration_complete"][:].all()
        for number in range(count):
            assert same_bits(file["a"][number], data(8, "f8", seed(number, 0)))
            assert same_bits(file["scripts/s/twice"][number], data(8, "f8", seed(number, 0)))
    with open(folder / output / "s.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(int(r["iteration"]), float(r["sum"])) for r in rows] == [
        (number, float(data(SIZE, "u1", seed(number, 0)).sum())) for number in range(count)]
    assert len(list((folder / output / "s").glob("p-*.png"))) == count
    text = (folder / log).read_text()
    assert [line.rsplit(" ", 1)[1] for line in text.splitlines() if '"s": of ' in line] == [str(n) for n in range(count)]
    assert "nothing lost" in text
    ledger = json.loads((folder / f"run{suffix}.ledger.json").read_text())
    assert session in json.dumps(ledger)


@pytest.mark.parametrize("output", ["", 'output="pics"'])
def test_two_runs_at_the_same_time_keep_apart(tmp_path, output):
    put(tmp_path, "s", SCRIPT)
    text = config(scripts=output).replace('<log level="debug"/>', '<log file="run.log"/>')
    with Run(tmp_path, text) as first:
        first.init()
        write_iterations(first, range(3), seed=seed_of_first)
        folder = "pics" if output else "run-scripts"
        wait_until(lambda: (tmp_path / folder / "s.csv").exists(), "the output of the first")
        with Second(tmp_path, text) as second:
            second.init()
            write_iterations(second, range(4), seed=seed_of_second)
            write_iterations(first, range(3, 6), seed=seed_of_first)
            second.finish()
        write_iterations(first, range(6, 8), seed=seed_of_first)
        first.finish()
    check(tmp_path, first.session, "", folder, 8, seed_of_first, "run.log")
    name = second.session
    check(tmp_path, name, f"-{name}", f"{folder}-{name}", 4, seed_of_second, f"run-{name}.log")
    assert "is being written by another run; this one writes" in (tmp_path / f"run-{name}.log").read_text()
    assert "run.log is being written by another run" in second.ranks[0].stderr()
    assert not [path for path in tmp_path.glob(".*.lock")], "locks end with the run"


@pytest.mark.parametrize("skip", [False, True], ids=["must see all", "may skip"])
def test_no_iteration_is_lost_in_silence_while_the_second_waits_for_its_names(tmp_path, skip):
    """Its scripts are looked for after that, about two seconds; by then its buffer has been full for long."""
    big = '<layout name="big" type="uint8" dimensions="1048576"/><variable name="a" layout="big"/>'
    put(tmp_path, "s", "def process(ds, ctx):\n    ctx.scalar('number', ctx.iteration)\n")
    text = config(big, buffer="4MiB", store="", skip=skip)
    with Run(tmp_path, text) as first:
        first.init()
        write_iterations(first, range(1), size=1 << 20)
        wait_until(lambda: (tmp_path / "run-scripts" / "s.csv").exists(), "the output of the first")
        with Second(tmp_path, text) as second:
            second.init()
            write_iterations(second, range(20), size=1 << 20)
            second.finish()
            report = last_report(second, "s")
        first.finish()
    calls = int(re.search(r"(\d+) call", report)[1])
    left_out = re.search(r"(\d+) iterations? skipped", report)
    assert calls + int(left_out[1] if left_out else 0) == 20, second.log()
    if not skip:
        assert left_out is None, report


def test_the_second_keeps_its_names_when_its_server_is_killed(tmp_path):
    put(tmp_path, "s", SCRIPT)
    text = config().replace('<log level="debug"/>', '<log file="run.log"/>')
    with Run(tmp_path, text) as first:
        first.init()
        write_iterations(first, range(2), seed=seed_of_first)
        with Second(tmp_path, text) as second:
            second.init()
            write_iterations(second, range(2), seed=seed_of_second)
            output = tmp_path / f"run-scripts-{second.session}"
            wait_until(lambda: (output / "s.csv").exists() and len((output / "s.csv").read_text().splitlines()) == 3, "its output")
            os.kill(second.server(), signal.SIGKILL)
            wait_until(lambda: not second.servers(), "its end")
            write_iterations(second, range(2, 4), seed=seed_of_second)
            second.finish()
        first.finish()
    assert (output / "s.csv").read_text().count("\n") == 5, (tmp_path / f"run-{second.session}.log").read_text()
    assert (tmp_path / "run-scripts" / "s.csv").read_text().count("\n") == 3
    assert '"s": of 3' in (tmp_path / f"run-{second.session}.log").read_text()
    assert '"s": of 3' not in (tmp_path / "run.log").read_text()
    assert len([line for line in (tmp_path / "run.log").read_text().splitlines() if "nothing lost" in line]) == 1


def test_a_run_that_follows_at_once_has_the_wanted_names(tmp_path):
    put(tmp_path, "s", SCRIPT)
    text = config().replace('<log level="debug"/>', '<log file="run.log"/>')
    for _ in range(2):
        with Run(tmp_path, text) as run:
            run.init()
            write_iterations(run, range(2))
            run.finish()
    assert not list(tmp_path.glob("run-scripts-*")) and not list(tmp_path.glob("run-*.log"))
    assert (tmp_path / "run-scripts.1" / "s.csv").exists() and (tmp_path / "run-scripts" / "s.csv").exists()

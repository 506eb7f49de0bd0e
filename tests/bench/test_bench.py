# SPDX-License-Identifier: Apache-2.0
"""The bench works: each way of output writes what it should, wrong bytes are found, and the page says what was
measured. How fast anything is is no test's business."""

import os
import shutil
import sys
import types
from xml.etree import ElementTree

import numpy as np
import pytest

sys.path.insert(0, os.path.dirname(__file__))
import schedules_bench  # noqa: E402
from harness import launch, page, repeat, targets, verify  # noqa: E402
from harness.context import Context  # noqa: E402
from harness.job import Case, Jobs, placements  # noqa: E402
from harness.methods import METHODS  # noqa: E402
from harness.sections import SECTIONS  # noqa: E402
from harness.tools import BUILD  # noqa: E402

QUICK = [name for name, method in METHODS.items() if method.quick]
VALUES = 1000


@pytest.fixture
def jobs(tmp_path):
    return Jobs(tmp_path / "job")


@pytest.mark.parametrize("name", QUICK)
def test_each_way_that_needs_nothing_else_writes_all_bytes(jobs, name):
    figures = jobs.measure(Case(name, placements()[0], work=100, node_bytes=64 << 10, iterations=3, warm_up=1))
    assert figures["right_bytes"] == figures["wanted_bytes"]
    assert (figures["wanted_bytes"] > 0) == bool(METHODS[name].reads)
    assert figures["loop_s"] > 0


@pytest.mark.parametrize("name", ["leat-write", "mpi-isend"])
def test_ranks_on_all_cores_and_iterations_on_the_disk_work_too(jobs, name):
    figures = jobs.measure(
        Case(name, placements()[-1], work=100, node_bytes=64 << 10, iterations=6, warm_up=1, durable=True)
    )
    assert 0 < figures["wanted_bytes"] == figures["right_bytes"]


def test_all_ways_of_the_programs_are_compared():
    built = launch.run([BUILD / "bin/leat_bench_job", "methods"])[0].split()
    assert len(built) > 5 and set(built) <= set(METHODS)


def test_a_job_that_fails_says_why(jobs):
    with pytest.raises(launch.Failed, match="bytes must be a multiple of 8"):
        jobs.measure(Case("none", placements()[0], work=1, node_bytes=0, iterations=1))


def plain_output(folder):
    for rank in range(2):
        rows = [verify.base(VALUES) + 2048.0 * (rank + 2 * iteration) for iteration in range(3)]
        np.concatenate(rows).tofile(folder / f"rank{rank}.bin")
    return lambda: verify.right_bytes("file-per-rank", folder, 2, 3, VALUES)


def test_bytes_that_are_wrong_are_counted(tmp_path):
    right_bytes = plain_output(tmp_path)
    assert right_bytes() == 2 * 3 * VALUES * 8
    with open(tmp_path / "rank1.bin", "r+b") as file:
        file.seek(8 * VALUES + 80)
        file.write(b"\x01")
    assert right_bytes() == 2 * 3 * VALUES * 8 - 8


def test_iterations_that_are_missing_or_of_another_rank_are_counted(tmp_path):
    right_bytes = plain_output(tmp_path)
    os.truncate(tmp_path / "rank0.bin", 2 * VALUES * 8 + 16)
    assert right_bytes() == (2 * 3 - 1) * VALUES * 8
    shutil.copy(tmp_path / "rank1.bin", tmp_path / "rank0.bin")
    assert right_bytes() == 3 * VALUES * 8


def series_of(runs):
    """A case "none" and a case "x", of which each run is (turn's seconds, share of others)."""
    left = {case: iter(of) for case, of in runs.items()}

    def measure(case):
        loop_s, others = next(left[case])
        return {"loop_s": loop_s, "others": others}

    return repeat.Series(measure, list(runs), len(runs["none"]) // 2, limit_s=60)


def test_disturbed_repetitions_are_made_again_and_discarded():
    series = series_of({"none": [(1.0, 0.0), (2.0, 0.0)] * 2, "x": [(1.1, 0.0), (9.0, 0.5), (2.2, 0.0), (2.2, 0.0)]})
    assert [run["loop_s"] for run in series.runs["x"]] == [1.1, 9.0, 2.2]
    assert series.figure("x", "loop_s") == {"median": pytest.approx(1.65), "least": 1.1, "most": 2.2, "of": 2}
    assert series.discarded() == 1 and not series.disturbed("x")


def test_a_ratio_is_of_one_turn():
    series = series_of({"none": [(1.0, 0.0), (4.0, 0.0)] * 2, "x": [(2.0, 0.0), (8.0, 0.0)] * 2})
    assert series.ratio("x", "none", "loop_s") == {"median": 2.0, "least": 2.0, "most": 2.0, "of": 2}


def test_a_case_without_a_quiet_repetition_is_marked():
    series = series_of({"none": [(1.0, 0.0)] * 2, "x": [(1.0, 0.9)] * 2})
    assert series.disturbed("x") and series.figure("x", "loop_s")["median"] == 1.0


def test_wrong_bytes_and_failures_are_not_lost():
    def measure(case):
        if case == "broken":
            raise launch.Failed("it hangs")
        return {"others": 0.0, "wanted_bytes": 16, "right_bytes": 9}

    series = repeat.Series(measure, ["x", "broken"], 2, limit_s=60, say=lambda text: None)
    assert series.wrong_bytes() == 14 and series.failures == {"broken": "it hangs"}
    assert series.figure("broken", "loop_s") is None


def results_of(rows):
    return {
        "quick": True,
        "date": "today",
        "commit": "abc",
        "minutes": 1.0,
        "machine": {"cores": "2"},
        "discarded": 3,
        "wrong_bytes": 17,
        "failures": ["mpi-io: it hangs\nat length"],
        "pictures": {},
        "sections": {"scale": {"rows": rows, "event_loop": []}},
    }


ROW = {
    "case": [4, 10],
    "disturbed": True,
    "write_ns": {"median": 250.0},
    "end_ns": {"median": 1500.0},
    "server_ns_per_block": {"median": 700.0},
    "private_kib": {"median": 2048.0},
    "shared_kib": {"median": 4096.0},
}


def test_the_page_says_figures_machine_and_what_was_disturbed():
    text = page.page(results_of([ROW]))
    assert "| 4 x 10 (disturbed) | 250 ns | 1.5 us | 700 ns | 2 MiB | 4 MiB |" in text
    assert (
        "| cores | 2 |" in text
        and "3 in all" in text
        and "figures mean nothing" in text
        and SECTIONS["scale"].TITLE in text
    )
    assert "of all runs: 17." in text and "- mpi-io: it hangs" in text


def test_promises_stand_beside_what_was_measured():
    def said(ns):
        event_loop = [{"ranks": 1, "variables": 10, "ns_per_block": ns}, {"ranks": 9, "variables": 10, "ns_per_block": 3}]
        return "\n".join(targets.page({"scale": {"rows": [], "event_loop": event_loop}}))

    assert "| server, for a small block | <= 1 us | 990 ns | yes |  |" in said(990)
    assert "| 1.2 us | **no** | few blocks share" in said(1200)
    assert targets.page({}) == []


def test_figures_go_between_the_marks_of_a_page(tmp_path):
    target = tmp_path / "page.md"
    target.write_text(f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n")
    page.put_into(target, results_of([ROW]))
    text = target.read_text()
    assert text.startswith("before\n") and text.endswith("\nafter\n") and "old" not in text and "250 ns" in text
    target.write_text("no marks")
    with pytest.raises(SystemExit, match="has no lines"):
        page.put_into(target, results_of([ROW]))


def test_what_the_names_of_damaris_cost_is_said_beside_its_target(tmp_path):
    figures = SECTIONS["damaris"]._run(tmp_path / "damaris.xml", 3)
    calls = {name: row for name, row in figures.items() if name != "others"}
    assert {"write", "end_iteration", "parameter_get"} < set(calls)
    data = {"disturbed": False, "calls": {"write": {"leat_ns": 30.0, "damaris_ns": 90.0, "more_ns": 60.0}}}
    assert "| write | 30 ns | 90 ns | 60 ns |" in SECTIONS["damaris"].page(data)
    assert "| <= 50 ns | 60 ns | **no** |" in "\n".join(targets.page({"damaris": data}))


def test_what_the_place_of_the_server_costs_is_said_beside_its_target(tmp_path):
    section = SECTIONS["places"]
    figures = {case: section._run(tmp_path, case, 3) for case in section.CASES}
    assert all(set(section.FIGURES) < set(row) for row in figures.values())
    spread = {"median": 1.02, "least": 0.9, "most": 1.3}
    data = {"disturbed": False, "figures": {name: {case: spread for case in section.CASES} for name in section.FIGURES},
            "ratios": {name: spread for name in section.FIGURES}}
    assert len([line for line in section.page(data) if line.startswith("| ")]) >= 4
    assert "| <= 1.05 | 1.02 | yes |" in "\n".join(targets.page({"places": data}))


def test_bursts_start_together_where_they_are_coordinated(tmp_path):
    section = SECTIONS["coordinated"]
    for case in ("without", "coordinated"):
        figures = section._run(tmp_path, case, 2 * section.EVERY)
        assert figures["seconds"] > 0
    assert 0 <= figures["apart_ms"] and figures["burst_ms"] >= section.BURST_MS * 0.9
    spread = {"median": 1.08, "least": 1.07, "most": 1.09, "count": 3}
    data = {"disturbed": False, "ratios": {"each by itself": spread | {"median": 1.16}, "coordinated": spread},
            "predicted": {"each by itself": 1.16, "coordinated": section._predicted(0.01, "coordinated")},
            "apart_ms": {case: spread for case in section.CASES}, "burst_ms": {case: spread for case in section.CASES}}
    text = "\n".join(section.page(data))
    assert "cost 0.50 of" in text and abs(data["predicted"]["coordinated"] - 1.08) < 0.01, text


def test_what_predictions_cost_is_said_beside_its_targets():
    section = SECTIONS["predict"]
    figures = section._run(1)
    assert 0 < figures["bytes_per_rank"] <= 64 and figures["undisturbed_ns"] > 0
    spread = {"median": 2e6, "least": 1e6, "most": 3e6}
    data = {"disturbed": False, "figures": dict.fromkeys(section.FIGURES, spread) | {"bytes_per_rank": {"median": 40.0}}}
    assert "| an iteration with bursts | 2 ms | 1 ms | 3 ms |" in section.page(data)
    promised = "\n".join(targets.page({"predict": data}))
    assert "| <= 5 ms | 2 ms | yes |" in promised and "| <= 64 B | 40 B | yes |" in promised


def test_what_plans_say_stands_beside_what_runs_took(tmp_path):
    section = SECTIONS["plans"]
    figures = [section._turn(tmp_path / "plans", program, place, 64, 30, 64) for program, place in zip(section.PROGRAMS, section.PLACES)]
    data = [{"case": ["heat", "thread", 1], "disturbed": False} | {name: {"median": 1.04} for name in figures[0]}]
    assert all(run["sync_by_own"] > 0 and run["auto"] > 0 and run["c_over_w"] > 0 for run in figures)
    shown = "\n".join(section.page(data))
    assert "| heat, thread | 1 | 1.04 |" in shown and "| yes |" in shown
    said = "\n".join(targets.page({"plans": data}))
    assert "| <= 1.10 | 1.04 | yes |" in said and "| <= 1.05 | 1.04 | yes |" in said


def test_functions_of_the_whole_run_are_called_and_nothing_is_copied(tmp_path):
    section = SECTIONS["cluster"]
    data = section.measure(Context(tmp_path, None, 1.0, quick=True))
    assert [(each["servers"], each["copied_bytes"], len(each["from_end_ns"])) for each in data["calls"]] == [(1, 0, 2), (2, 0, 2)]
    assert all(0 < each["from_end_ns"][0] < each["from_write_ns"][0] for each in data["calls"])
    text = "\n".join(section.page(data))
    assert "| to the call, of 2 servers" in text and "chunks of 2 variables of 4 servers are there" in text
    assert data["beside"] is None or "deisa-dask over Leat" in text


def test_the_xml_of_opm_flow_is_short_and_good():
    """Twenty variables on a mesh. Its lines are counted as the other files of the project may have them, none too long."""
    module = SECTIONS["damaris"]
    lines = module.OPM_FLOW.read_text().splitlines()
    assert len(lines) <= 25 and max(map(len, lines)) <= 140
    on_mesh = ElementTree.parse(module.OPM_FLOW).findall(".//group[@mesh]/variable") + \
        ElementTree.parse(module.OPM_FLOW).findall(".//variable[@mesh]")
    assert len(on_mesh) == 20 and launch.run((BUILD / "bin/leat", "check", module.OPM_FLOW))[0].endswith("good\n")
    measured = {"damaris": {"lines": len(lines), "calls": {}}}
    assert "| <= 25 | 24 | yes |" in "\n".join(targets.page(measured))


def test_single_benches_run():
    for command in (
        (BUILD / "bin/leat_write_path_bench", 2, 1024, 2, 5, 10, "rotated"),
        (BUILD / "bin/leat_scale_bench", 2, 3),
    ):
        assert '"write' in launch.run(command)[0]


@pytest.mark.parametrize("code", schedules_bench.CODES)
def test_schedules_are_compared_by_runs_of_the_same_result(tmp_path, monkeypatch, code):
    monkeypatch.setitem(schedules_bench.CODES, code, ["3", "6", *schedules_bench.CODES[code][2:]])
    sums = {None: schedules_bench.run(tmp_path, code, None)["checksum"]}
    for schedule in schedules_bench.schedules_of(code):
        figures = schedules_bench.run(tmp_path, code, schedule, rounds=2, pieces=4)
        sums[schedule] = figures["checksum"]
        assert 0 < figures["computed"] <= figures["seconds"]
    assert len(sums) > 4 and len(set(sums.values())) == 1, sums


def test_what_was_on_which_core_is_drawn(tmp_path, monkeypatch):
    monkeypatch.setitem(schedules_bench.CODES, "md_tbb", ["100", "8"])
    monkeypatch.setattr(schedules_bench.timeline, "WARM_UP_S", 0.1)
    monkeypatch.setattr(schedules_bench, "SCHEDULES", {"server": "process", "dynamic": "thread"})
    schedules_bench.cores_picture(tmp_path, {"md_tbb, long parallel": {"rounds": 5}}, tmp_path / "cores.png")
    assert (tmp_path / "cores.png").read_bytes().startswith(b"\x89PNG") and len(list(tmp_path.glob("**/analytics-*"))) == 0


def test_files_that_servers_share_show_what_files_of_their_own_do(tmp_path):
    """The section compares both views itself."""
    section = SECTIONS["files"]
    data = section.measure(types.SimpleNamespace(folder=tmp_path, quick=True, say=print))
    page = "\n".join(section.page(data))
    assert "the same into 2 files" in page and "at most 1 at one time" in page

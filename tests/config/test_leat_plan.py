# SPDX-License-Identifier: Apache-2.0
"""The whole command `leat plan`: the models, worked out here once more, and what it says to bad input."""
import json
import re
import sys

import matplotlib.image
import pytest
from machine_command import REFERENCE, leat

PAGE = (REFERENCE / "leat-plan.md").read_text()
XML = """<simulation name="flow"><architecture><dedicated cores="1"/><buffer size="256MiB"/></architecture>
<data><parameter name="n" type="int" value="64"/><layout name="l" type="double" dimensions="n,n,n"/><variable name="u" layout="l"/></data>
<storage><store name="out" type="hdf5"/></storage></simulation>"""
TYPICAL = ["flow.xml", "--compute", "50ms", "--ranks", "15", "--iterations", "1000", "--disk", "400MB/s"]
REPORT = {"leat_report": 1, "simulation": "flow", "dedicated_cores": 1, "compute_seconds": 0.02, "inside_seconds": 0.001,
          "synchronous": False, "store_seconds": 0.01, "script_seconds": 0.004, "ranks": 3, "cores_are_shared": False, "iterations": 200,
          "bytes": 200 << 20, "buffer_bytes": 16 << 20, "measured_seconds": 4.3, "expected_seconds": 4.2}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "flow.xml").write_text(XML)
    return tmp_path


def plan(folder, *arguments, code=0):
    done = leat("plan", *arguments, cwd=folder, code=code)
    return done.stdout if code == 0 else done.stderr


def ways(folder, *arguments):
    said = json.loads(plan(folder, *arguments, "--json"))
    return said, {(way["way"], way["dedicated_cores"]): way["total_seconds"] for way in said["ways"]}


def expected(c, w, a, ranks, cores, n, inside):
    """Total seconds of each way, of one sequential analysis."""
    found = {("synchronous", 0): n * (c * ranks / cores + inside + w + a)}
    for k in range(1, cores):
        computed = c * ranks / (cores - k) + inside
        found["dedicated", k] = computed + w + a + (n - 1) * max(computed, w + a)
    alone = c * ranks / cores + inside
    found["dynamic", 0] = alone + w + a + (n - 1) * max(alone, w + a, (c * ranks + a) / cores)
    return found


def check(said, found, **facts):
    wanted = expected(said["compute_seconds"], said["output_seconds"], said["analysis_seconds"], said["computing_cores"], said["cores"],
                      said["iterations"], said["inside_seconds"])
    assert {key: pytest.approx(found[key], rel=1e-12) for key in found} == {key: wanted[key] for key in found}
    (best,) = [way for way in said["ways"] if way["best"]]
    assert best["total_seconds"] <= 1.01 * min(wanted.values())
    assert {key: said[key] for key in facts} == {key: pytest.approx(value) for key, value in facts.items()}


def test_of_an_xml_and_a_disk(folder):
    said, found = ways(folder, *TYPICAL)
    assert {("synchronous", 0), ("dedicated", 1), ("dynamic", 0)} <= set(found)
    data = 15 * 8 * 64**3
    assert data <= said["bytes"] <= data * 1.01  # what a block takes in memory
    check(said, found, compute_seconds=0.05, cores=16, output_seconds=said["bytes"] / 4e8, iterations=1000)


def test_sizes_that_the_simulation_sets(folder):
    said, found = ways(folder, *TYPICAL, "--set", "n=128", "--analysis", "30ms")
    assert 15 * 8 * 128**3 <= said["bytes"] <= 15 * 8 * 128**3 * 1.01
    check(said, found, analysis_seconds=0.03)
    said, found = ways(folder, *TYPICAL, "--bytes", "1.5GiB", "--cores", "20")
    check(said, found, bytes=1.5 * 2**30, cores=20)


def test_of_a_report(folder):
    (folder / "r.json").write_text(json.dumps(REPORT))
    said, found = ways(folder, "--from", "r.json")
    check(said, found, compute_seconds=0.02, output_seconds=0.01, analysis_seconds=0.004, inside_seconds=0.001, cores=4, computing_cores=3,
          bytes=1 << 20, iterations=200)
    assert "the run took 4.30 s, the model says 4.20 s" in plan(folder, "--from", "r.json")
    said, found = ways(folder, "--from", "r.json", "--iterations", "5000", "--disk", "10MiB/s")
    check(said, found, iterations=5000, output_seconds=0.1)
    (folder / "r.json").write_text(json.dumps({**REPORT, "cores_are_shared": True, "synchronous": True}))
    said, found = ways(folder, "--from", "r.json")
    check(said, found, cores=3, inside_seconds=0)
    (folder / "r.json").write_text(json.dumps({**REPORT, "synchronous": True, "inside_seconds": 0.016}))
    said, found = ways(folder, "--from", "r.json")
    check(said, found, inside_seconds=0.016 - 0.01 - 0.004)


def test_a_disk_is_measured_with_consent_only(folder):
    said, _ = ways(folder, *TYPICAL[:-2], "--measure", ".")
    assert said["output_seconds"] > 0 and [p.name for p in folder.iterdir()] == ["flow.xml"]
    assert "cannot measure the disk of nowhere: No such file" in plan(folder, *TYPICAL[:-2], "--measure", "nowhere", code=1)


NODES = ["--nodes", "16", "--network", "10GB/s"]


@pytest.mark.parametrize("more", [[], ["--staging-disk", "4GB/s"], ["--sequential", "20", "--analysis", "30ms", "--parallel", "4"]])
def test_what_staging_nodes_gain_or_cost(folder, more):
    said, found = ways(folder, *TYPICAL, *NODES, "--staging", "2", *more)
    w, a, n, size = said["output_seconds"], said["analysis_seconds"] / 4, said["iterations"], said["bytes"]
    if "--staging-disk" in more:
        w = size / 4e9
    share = 0.2 if "--sequential" in more else 0
    expected = {}
    for count in range(1, 16):
        compute = 0.05 * (share + (1 - share) * 16 / (16 - count)) + said["inside_seconds"] * 16 / (16 - count)
        stages = [compute, size * 16 / min(count, 16 - count) / 1e10, (w + a) * 16 / count]
        expected[count] = sum(stages) + (n - 1) * max(stages)
    plain, *others = said["staging"]["ways"]
    assert plain["staging_nodes"] == 0 and plain["total_seconds"] == [way for way in said["ways"] if way["best"]][0]["total_seconds"]
    assert others[0]["staging_nodes"] == 2 and others[0]["computing_nodes"] == 14
    for way in others:
        assert way["total_seconds"] == pytest.approx(expected[way["staging_nodes"]], rel=0.02 if share else 1e-9)
    assert min(way["total_seconds"] for way in others) <= 1.01 * min(expected.values()) * (1.02 if share else 1)


def test_staging_nodes_are_those_of_the_xml(folder):
    staged = XML.replace("<dedicated", '<staging nodes="3"/><dedicated').replace('type="hdf5"', 'type="hdf5" at="staging"')
    (folder / "flow.xml").write_text(staged)
    said, _ = ways(folder, *TYPICAL, *NODES)
    assert said["staging"]["ways"][1]["staging_nodes"] == 3
    shown = plan(folder, *TYPICAL, *NODES, "--staging-disk", "4GB/s")
    assert "3 staging nodes: 13 nodes compute" in shown and "% less time than with none" in shown


def test_the_page_shows_what_it_says_of_staging_nodes(folder):
    shown = plan(folder, *TYPICAL, *NODES, "--staging", "2", "--staging-disk", "4GB/s")
    lines = shown[shown.index("With staging nodes"):].rstrip().splitlines()
    assert "\n".join(f"    {line}".rstrip() for line in lines) in PAGE


@pytest.mark.parametrize("arguments, code, said", [
    ([*TYPICAL, "--nodes", "16"], 2, "say both, --nodes 16 --network 10GB/s"),
    ([*TYPICAL, "--staging", "2"], 2, "say how many these are"),
    ([*TYPICAL, *NODES, "--staging", "16"], 2, "16 of them are staging nodes, and one at least computes"),
    ([*TYPICAL, "--nodes", "16", "--network", "fast"], 2, "--network fast: expected a rate with its unit"),
    ([], 2, "say the XML of the simulation, or --from the report"),
    (["flow.xml"], 2, "--compute 50ms"),
    (["flow.xml", "--compute", "50ms"], 2, "--disk 1.2GiB/s, --from a report, or --measure FOLDER"),
    (["flow.xml", "--compute", "50", "--disk", "1GiB/s"], 2, "--compute 50: expected a time with its unit"),
    (["flow.xml", "--compute", "50ms", "--disk", "1GiB"], 2, "--disk 1GiB: expected a rate with its unit"),
    (["flow.xml", "--compute", "50ms", "--disk", "0GiB/s"], 2, "--disk 0GiB/s: expected"),
    (["flow.xml", "--compute", "50ms", "--disk", "-1GiB/s"], 2, "--disk -1GiB/s: expected"),
    ([*TYPICAL, "--bytes", "many"], 2, "--bytes many: expected a size like 300MiB"),
    ([*TYPICAL, "--cores", "8"], 2, "--cores 8: the 15 ranks of a node need one each"),
    ([*TYPICAL, "--set", "m=3"], 2, 'there is no parameter "m"'),
    ([*TYPICAL, "--sequential", "120"], 2, "--sequential"),
    (["none.xml", "--compute", "50ms", "--disk", "1GiB/s"], 1, "none.xml"),
    (["--from", "none.json"], 2, "--from none.json: no such file"),
    (["--from", "flow.xml"], 1, "flow.xml is no report of a run"),
    (["--from", "half.json"], 1, "half.json lacks something"),
    (["--from", "no_ranks.json"], 1, "there is no such run"),
    (["--from", "negative.json"], 1, "there is no such run"),
    ([*TYPICAL, "--cores", "2000000000"], 1, "a node has 1 to 65536 cores"),
])
def test_bad_input(folder, arguments, code, said):
    (folder / "half.json").write_text(json.dumps({key: REPORT[key] for key in list(REPORT)[:5]}))
    (folder / "no_ranks.json").write_text(json.dumps({**REPORT, "ranks": 0}))
    (folder / "negative.json").write_text(json.dumps({**REPORT, "compute_seconds": -1.0}))
    assert said in plan(folder, *arguments, code=code)


def test_a_picture_is_drawn(folder):
    one_core = ["flow.xml", "--compute", "50ms", "--disk", "400MB/s", "--cores", "1"]
    for words in (TYPICAL, [*TYPICAL, "--analysis", "40ms", "--parallel", "8"], one_core):
        plan(folder, *words, "--plot", "x.png", "--interpreter", sys.executable)
        pixels = matplotlib.image.imread(folder / "x.png")
        assert pixels.shape[0] > 300 and pixels.shape[1] > 600
        assert len({tuple(p) for p in pixels[::3, ::3].reshape(-1, pixels.shape[2]).round(2)}) > 4, "lines of several colours"
        (folder / "x.png").unlink()
    (folder / "r.json").write_text(json.dumps(REPORT))
    plan(folder, "--from", "r.json", "--plot", "x.svg", "--interpreter", sys.executable)
    assert "<svg" in (folder / "x.svg").read_text()


def test_a_picture_that_cannot_be_drawn(folder):
    drawn = [*TYPICAL, "--plot", "x.png", "--interpreter"]
    assert 'no program "nopython"' in plan(folder, *drawn, "nopython", code=1)
    bare = folder / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E "$@"\n')
    bare.chmod(0o755)
    done = leat("plan", *drawn, str(bare), cwd=folder, code=1)
    assert "pip install matplotlib" in done.stderr and "Ways to run it" in done.stdout and not (folder / "x.png").exists()
    assert "x.docx" in plan(folder, *TYPICAL, "--plot", "x.docx", "--interpreter", sys.executable, code=1)
    assert "there is nothing to draw" in plan(folder, "flow.xml", "--compute", "0s", "--disk", "1GiB/s", "--plot", "x.png", code=1)


def test_unknown_sizes_are_asked_for(folder):
    (folder / "flow.xml").write_text(XML.replace(' value="64"', ""))
    assert "the simulation sets n; say --set n=..., or --bytes 300MiB" in plan(folder, *TYPICAL, code=2)
    assert "Ways to run it" in plan(folder, *TYPICAL, "--set", "n=8")
    (folder / "flow.xml").write_text((folder / "flow.xml").read_text().replace('dimensions="n', 'dimensions="?,n'))
    assert 'how large "' in (said := plan(folder, *TYPICAL, code=2)) and "say --bytes 300MiB" in said and "--set" not in said, said


def test_the_example_of_the_page(folder):
    command, shown = re.search(r"    \$ leat plan (flow.xml .*)\n((?:    .*\n|\n)+)", PAGE).groups()
    said = plan(folder, *command.split())
    assert [line.rstrip() for line in said.splitlines()] == [line[4:].rstrip() for line in shown.rstrip().splitlines()]

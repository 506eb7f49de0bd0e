# SPDX-License-Identifier: Apache-2.0
"""The whole command `leat predict`: what it prints, exports and draws, and what it says of input that makes no sense."""
import importlib.util
import json
import pathlib
import re
import shutil
import subprocess
import sys

import matplotlib
import matplotlib.image
import pytest
from leat_predict import LEAT, rows, said

JOB = ("--ranks", "16,64", "--compute", "1ms", "--seeds", 2)
BURSTS = ("--burst", "5ms", "--every", "100ms")


def test_the_same_question_has_the_same_answer():
    words = (*JOB[:-2], *BURSTS, "--spread", "0.3", "--imbalance", "0.1", "--sigma", "1ms,none")
    both = rows(*words, "--seeds", 2)
    assert both == rows(*words, "--seeds", 2)
    assert [row["seeds"][1:] for row in both] == [row["seeds"] for row in rows(*words, "--seed", 2, "--seeds", 1)]
    assert both[0]["seeds"][0]["ns"] != both[0]["seeds"][1]["ns"]


def test_the_screen_has_the_figures_of_the_json():
    words = (*JOB, *BURSTS, "--sigma", "0ns,none")
    lines = said(*words).splitlines()
    for line, row in zip(lines[5:9], rows(*words), strict=True):
        shown = re.search(r"(?:0 ns|none) +([\d.]+) ", line)[1]
        assert float(shown) == pytest.approx(100 * row["slowdown"], rel=0.006)
    assert lines[0] == "all-reduces of 8 bytes, 1 ms of computing between them"
    assert lines[1] == "bursts of 5 ms every 100 ms on each node of 1 rank"
    assert lines[2] == "L 2.5 us, o 1.5 us, g 1 us, G 6 ns/byte, O 0 ns/byte"


def test_ranks_of_a_node_are_interrupted_together():
    one, many = (rows("--ranks", 64, "--compute", "10ms", *BURSTS, "--per-node", n)[0]["slowdown"] for n in (1, 64))
    assert many == pytest.approx(5 / 95, rel=0.2) and one > 3 * many


def test_the_schedule_for_loggopsim_is_the_one_worked_by_hand(tmp_path):
    reference = pathlib.Path(__file__).with_name("three_ranks.goal").read_text()
    for rank, computing in enumerate([(1000, 500), (2000, 600), (3000, 700)]):
        ends = 100 + computing[0] + 50 + computing[1]
        (tmp_path / f"rank{rank}").write_text(f"60 40\n{100 + computing[0]} 50\n{ends + 0} 30\n")
    words = ("--ranks", 3, "--collective-traces", *(f"rank{rank}" for rank in range(3)), "--export-goal", "made.goal")
    assert said(*words, cwd=tmp_path) == ""
    assert (tmp_path / "made.goal").read_text() == reference.split("\n", 1)[1]
    assert "cannot be written" in said(*words[:-1], "no/such/folder/x", cwd=tmp_path, code=1)


def picture(path):
    """Its pixels, which a reader that we did not write has found."""
    return matplotlib.image.imread(path)


def test_a_picture_is_drawn(tmp_path):
    said(*JOB, *BURSTS, "--sigma", "1ms,none", "--plot", "x.png", cwd=tmp_path)
    pixels = picture(tmp_path / "x.png")
    assert pixels.shape[0] > 300 and pixels.shape[1] > 600
    assert len({tuple(p) for p in pixels[::3, ::3].reshape(-1, pixels.shape[2]).round(2)}) > 4, "lines of several colours"
    said(*JOB, *BURSTS, "--plot", "x.svg", cwd=tmp_path)
    assert "<svg" in (tmp_path / "x.svg").read_text()


def bare_python(folder, *packages):
    """One that has these packages of ours, and no other."""
    for name in packages:
        found = pathlib.Path(importlib.util.find_spec(name).origin).parent
        for path in [found, *found.parent.glob(f"{name}.libs")]:
            (folder / path.name).symlink_to(path)
    python = folder / "bare"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={folder} exec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    return python


def test_without_matplotlib_all_else_is_there(tmp_path):
    bare = bare_python(tmp_path, "numpy")
    done = subprocess.run([LEAT, "predict", *map(str, JOB + BURSTS), "--plot", "x.png", "--interpreter", bare], cwd=tmp_path,
                          capture_output=True, text=True)
    assert done.returncode == 1 and "pip install matplotlib" in done.stderr
    assert "slowdown" in done.stdout and not (tmp_path / "x.png").exists()
    assert "x.docx" in said(*JOB, *BURSTS, "--plot", "x.docx", cwd=tmp_path, code=1)


def test_without_numpy_it_says_so_in_one_line(tmp_path):
    bare = bare_python(tmp_path)
    complaint = said(*JOB, *BURSTS, python=bare, code=1)
    assert complaint.count("\n") == 1 and complaint.startswith("leat predict: ") and "cannot import NumPy" in complaint, complaint
    assert f"{sys.executable} -m pip install numpy" in complaint or "--interpreter" in complaint
    assert 'no program "nopython"' in said(*JOB, *BURSTS, python="nopython", code=1)


def test_a_leat_without_python_says_so(tmp_path):
    (tmp_path / "bin").mkdir()
    alone = shutil.copy(LEAT, tmp_path / "bin/leat")
    words = [alone, "predict", *map(str, JOB + BURSTS)]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and "LEAT_PYTHON=OFF" in done.stderr


def test_too_little_memory_is_an_error_and_no_crash(tmp_path):
    words = f"--interpreter {sys.executable} --ranks 16777216 --compute 1ms --burst 1ms --every 1s --collectives 1"
    limited = f"ulimit -v 400000; exec {LEAT} predict {words}"
    done = subprocess.run(["bash", "-c", limited], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "leat predict: there is no memory for 16777216 ranks\n")


@pytest.mark.parametrize("words, complaint", [
    (("--ranks", 4, "--compute", "10", *BURSTS), '--compute: "10" has no unit; units are ns, us, ms, s, min, h'),
    (("--ranks", 4, "--compute", "10mn", *BURSTS), '"10mn" has the unit "mn"'),
    (("--ranks", 4, "--compute", "long", *BURSTS), '"long" is no time; write one like 40ms'),
    (("--ranks", 4, "--compute", "-1ms", *BURSTS), '"-1ms" is no time'),
    (("--ranks", 4, "--compute", "0ms", *BURSTS), "ranks compute between collectives"),
    (("--ranks", 4, "--compute", "500h", *BURSTS), "longer than eleven days"),
    (("--ranks", 4, "--compute", "nans", *BURSTS), "is no time"),
    (("--ranks", 0, "--compute", "1ms", *BURSTS), "--ranks"),
    (("--ranks", 1 << 25, "--compute", "1ms", *BURSTS), "33554432 are more than 16777216"),
    (("--ranks", 4, *BURSTS), "how long do ranks compute between collectives?"),
    (("--ranks", 4, "--compute", "1ms"), "what do analytics do?"),
    (("--ranks", 4, "--compute", "1ms", "--burst", "1ms"), "--burst and --every belong together"),
    (("--ranks", 4, "--compute", "1ms", "--burst", "1s", "--every", "1s"), "leave the simulation no time"),
    (("--ranks", 4, "--compute", "1ms", *BURSTS, "--sigma", "30ms"), "a quarter"),
    (("--ranks", 4, "--compute", "1ms", *BURSTS, "--spread", 9), "the spread of bursts"),
    (("--ranks", 4, "--compute", "1ms", *BURSTS, "--spread", "nan"), "the spread of bursts"),
    (("--ranks", 4, "--compute", "1ms", *BURSTS, "--imbalance", -1), "the imbalance of ranks"),
    (("--ranks", 4, "--compute", "1ms", *BURSTS, "--bytes", 100_000), "messages have from 1 to S = 65535 bytes"),
    (("--ranks", 4, "--compute", "1ms", *BURSTS, "-L", "-1us"), '--latency: "-1us" is no time'),
    (("--ranks", 4, "--compute", "1ms", *BURSTS, "-G", "200h"), "would take more than eleven days"),
    (("--ranks", 4, "--compute", "1ms", *BURSTS, "--collectives", 1 << 40), "1099511627776 are more than 1000000000"),
    (("--ranks", 4, "--compute", "240h", "--burst", "1ms", "--every", "200h", "--collectives", 1_000_000), "more than 70 years"),
])
def test_questions_that_make_no_sense_are_errors_of_the_command_line(words, complaint):
    assert complaint in said(*words, code=2)


@pytest.mark.parametrize("text, complaint", [
    ("5 10\n\n30 10\n", "n.trace:2: an empty line"),
    ("5 10\n30\n", "n.trace:2: the duration is missing"),
    ("5 10\n10 1\n", "n.trace:2: it starts at 10, while the event of line 1 lasts until 15"),
    ("5 10\n# x\n1 1\n", "n.trace:3: it starts at 1, before the event of line 1 does, at 5"),
    ("5 10\n30 10", "n.trace:2: the last line has no end"),
    ("", "there is no event in it"),
    ("\0\xff\n", "n.trace:1: \"??\" is not \"start_ns duration_ns\""),
    ("5 10\n", "of one event nobody knows when it happens again"),
])
def test_traces_that_are_none_are_refused_with_their_line(tmp_path, text, complaint):
    (tmp_path / "n.trace").write_bytes(text.encode("latin-1"))
    assert complaint in said("--ranks", 4, "--compute", "1ms", "--burst-traces", "n.trace", cwd=tmp_path, code=1)


def test_a_trace_with_fewer_collectives_has_a_gap(tmp_path):
    (tmp_path / "rank0").write_text("0 1\n10 1\n20 1\n")
    (tmp_path / "rank1").write_text("0 1\n20 1\n")
    words = ("--ranks", 2, "--collective-traces", "rank0", "rank1", *BURSTS)
    assert "rank1 has 2 collectives, rank0 has 3" in said(*words, cwd=tmp_path, code=1)
    assert "No such file" in said(*words[:-4], "none", *BURSTS, cwd=tmp_path, code=1)


def test_a_run_is_as_long_as_its_traces_unless_it_is_asked_to_be_longer(tmp_path):
    (tmp_path / "rank0").write_text("".join(f"{i * 1_000_000} 1000\n" for i in range(8)))
    words = ("--ranks", 4, "--collective-traces", "rank0", *BURSTS, "--seeds", 1)
    assert [rows(*words, *more, cwd=tmp_path)[0]["seeds"][0]["collectives"] for more in ((), ("--collectives", 20))] == [7, 20]


def test_the_json_says_what_was_asked():
    told = json.loads(said(*JOB, *BURSTS, "-o", "0.2us", "-G", "0.08ns", "--json"))
    assert told["machine"] == {"L": 2500, "o": 200, "g": 1000, "G": 0.08, "O": 0.0, "S": 65535}
    assert told["rows"][0]["sigma_ns"] is None and len(told["rows"]) == 2

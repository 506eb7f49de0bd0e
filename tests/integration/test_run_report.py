# SPDX-License-Identifier: Apache-2.0
"""leat report: what became of a run on one screen, and a page that needs nothing but a browser."""
import contextlib
import html.parser
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import h5py
import pytest
from control_run import DATA, wait_until, write
from leat_run import BUILD, LIMIT, Run, xml

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "scripts"))
from script_run import config, put  # noqa: E402
from without_xarray import without_xarray  # noqa: F401

MOST_BYTES = 500_000
PNG = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763f8cfc000000301"
                    "0100c9fe92ef0000000049454e44ae426082")


def report(folder, *words, code=0):
    done = subprocess.run([BUILD / "bin/leat", "report", *words], cwd=folder, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == code, done
    return done.stdout if code == 0 else done.stderr


class Page(html.parser.HTMLParser):
    """Text, tags, and whatever a browser would load."""

    def __init__(self, path):
        super().__init__()
        self.tags, self.loads, self.text, self.open = [], [], "", []
        self.source = pathlib.Path(path).read_text()
        self.feed(self.source)
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag not in ("meta", "img"):
            self.open.append(tag)
        self.loads += [value for name, value in attributes if name in ("src", "href", "data", "action", "srcset", "background")]
        assert not any(name.startswith("on") for name, _ in attributes), attributes

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def page_of(folder, *words):
    report(folder, *words, "--html")
    path = pathlib.Path(folder) / f"{words[0]}.report.html"
    page = Page(path)
    assert path.stat().st_size <= MOST_BYTES
    assert all(each.startswith("data:image/") for each in page.loads), page.loads
    assert not {"script", "link", "iframe", "object", "embed"} & set(page.tags)
    assert "url(" not in page.source and "@import" not in page.source
    return page


def make_run(folder, iterations=6):
    put(folder, "good", "def process(ds, ctx):\n    ctx.scalar('highest', float(ctx.iteration))\n")
    put(folder, "broken", "def process(ds, ctx):\n    raise ValueError('u has no <maxx>\\nand no minn')\n")
    with Run(folder, config(DATA).replace('<log level="debug"/>', '<log file="run.log"/>'), ranks=2) as run:
        write(run.init(), range(iterations))
        for answer in run.finalize():
            assert answer.ok


def stored_iterations(folder):
    with contextlib.suppress(OSError, KeyError), h5py.File(folder / "run.h5", locking=False) as file:
        return len(file["iteration"])
    return 0


def test_a_run_is_summed_up_on_one_screen(tmp_path):
    make_run(tmp_path)
    screen = report(tmp_path, "run")
    rows = {words[0]: words for words in (line.split() for line in screen.splitlines())}
    assert rows["u"] == ["u", "6", "3", "KiB", "12", "12", "0", "0", "0"] and screen.startswith("run  finished, nothing lost\n")
    assert rows["time"][1:3] == ["6", "iterations"] and "ValueError: u has no <maxx>" in screen
    assert rows["next"] == ["next", "leat", "ls", "run.h5"] and "leat report run --html" in screen and "run-scripts/" in screen
    assert len(screen.splitlines()) <= 24
    for name in ("run.h5", "run.ledger.json", str(tmp_path / "run")):
        assert report(tmp_path, name).splitlines()[:2] == screen.splitlines()[:2]
    facts = json.loads(report(tmp_path, "run", "--json"))
    (u,) = [each for each in facts["variables"] if each["name"] == "u"]
    assert facts["leat_run_report"] == 1 and u["stored"] == {"out": 12} and facts["lost"] == 0


def test_the_page_has_all_in_it(tmp_path):
    make_run(tmp_path)
    (tmp_path / "run-scripts/slice.png").write_bytes(PNG)
    page = page_of(tmp_path, "run")
    assert page.tags.count("img") == 1 and "slice.png" in page.text and "finished, nothing lost" in page.text
    assert "ValueError: u has no <maxx>" in page.text and "<maxx>" not in page.source
    plots = re.findall(r'<svg[^>]*aria-label="([^"]*)"', page.source)
    assert {"highest", "dt", "iterations"} <= set(plots) and "done: 6 iterations ended" in page.text
    line = re.search(r'aria-label="highest".*?points="([^"]*)"', page.source)[1].split()
    assert len(line) == 6 and len({point.split(",")[1] for point in line}) == 6


def test_pictures_have_the_room_that_a_page_has(tmp_path):
    make_run(tmp_path, 2)
    for i in range(40):
        path = tmp_path / f"run-scripts/p{i:02}.png"
        path.write_bytes(PNG + os.urandom(30_000))
        os.utime(path, (time.time() + i, time.time() + i))
    page = page_of(tmp_path, "run")
    shown = page.tags.count("img")
    assert 5 <= shown < 40 and f"{40 - shown} pictures more" in page.text
    assert "p39.png" in page.text and "p00.png" not in page.text, "the newest come first"


def test_many_iterations_and_variables_make_no_large_page(tmp_path):
    entries = [{"variable": f"v{i}", "fate": fate, "store": "out", "iterations": [k * 100, k * 100 + 98, 2], "ranks": [[0, 9]],
                "blocks": 50, "bytes": 800, "why": "no space left"}
               for i in range(300) for k in range(2) for fate in ("written", "stored", "failed")]
    ledger = {"leat_ledger": 1, "simulation": "big", "session": "s", "ranks": 10, "node": "n", "state": "died", "lost": 21, "stores": [],
              "entries": entries, "died": [{"rank": 3, "iteration": 7}], "scripts": [],
              "warnings": [{"what": "holes", "text": "u has holes"}]}
    (tmp_path / "big.ledger.json").write_text(json.dumps(ledger))
    (tmp_path / "run-scripts").mkdir()
    page = page_of(tmp_path, "big")
    assert "died, 21 writes LOST" in page.text and "rank 3 died in iteration 7" in page.text and "u has holes" in page.text
    screen = report(tmp_path, "big")
    assert screen.startswith("big  died, 21 writes LOST\n") and len(screen.splitlines()) <= 24


def test_a_damaged_file_costs_its_plots_alone(tmp_path):
    make_run(tmp_path)
    size = (tmp_path / "run.h5").stat().st_size
    os.truncate(tmp_path / "run.h5", size // 2)
    page = page_of(tmp_path, "run")
    assert "run.h5: " in page.text and 'aria-label="highest"' in page.source


def test_the_newest_run_of_a_name_is_meant_with_all_its_servers(tmp_path):
    def ledger(file, session, blocks, when, simulation="heat"):
        entry = {"variable": "u", "fate": "written", "iterations": [0, 3, 1], "ranks": [[0, 1]], "blocks": blocks, "bytes": 8 * blocks}
        facts = {"leat_ledger": 1, "simulation": simulation, "session": session, "ranks": 4, "node": session, "state": "finished",
                 "lost": 0, "stores": [], "entries": [entry]}
        (tmp_path / file).write_text(json.dumps(facts))
        os.utime(tmp_path / file, (when, when))
    now = time.time()
    ledger("heat-old.ledger.json", "slurm-1.0", 1000, now - 900)
    ledger("heat-a.ledger.json", "slurm-2.0", 8, now)
    ledger("heat-b.ledger.json", "slurm-2.0.1", 4, now - 1)
    ledger("heat-fine.ledger.json", "slurm-2.0.2", 100, now - 1, "heat-fine")
    facts = json.loads(report(tmp_path, "heat", "--json"))
    assert [each["written_blocks"] for each in facts["variables"]] == [12] and facts["variables"][0]["iterations"] == 4
    assert len(facts["ledgers"]) == 2


def test_files_and_reports_of_other_runs_are_not_this_runs(tmp_path):
    make_run(tmp_path, 6)
    kept = json.loads((tmp_path / "run.report.json").read_text())
    make_run(tmp_path, 2)
    with Run(tmp_path, config(DATA).replace("<simulation name=\"run\"", "<simulation name=\"other\""), name="other") as run:
        write(run.init(), range(2))
        run.finalize()
    facts = json.loads(report(tmp_path, "run", "--json"))
    assert {each.name for each in tmp_path.glob("*.h5")} == {"run.h5", "run.1.h5", "other.h5"}
    assert facts["files"] == ["run.h5"] and facts["scripts_folders"] == ["run-scripts"] and facts["reports"][0]["iterations"] == 2
    kept["session"] = facts["reports"][0]["session"]
    (tmp_path / "run.report.json").write_text(json.dumps(kept))
    assert json.loads(report(tmp_path, "run", "--json"))["reports"] == []


def test_what_a_server_that_died_has_stored_is_said(tmp_path):
    with Run(tmp_path, xml(DATA)) as run:
        ranks = run.init()
        write(ranks, range(4))
        wait_until(lambda: stored_iterations(tmp_path) == 4, "four iterations in the file")
        os.kill(run.server(), signal.SIGKILL)
        write(ranks, range(4, 6))
        run.finish()
    screen = report(tmp_path, "run")
    assert 'store "out" has what it wants up to iteration 3, which is not counted here' in screen
    assert json.loads(report(tmp_path, "run", "--json"))["stored_until"] == {"out": 3}
    assert "not counted here" in page_of(tmp_path, "run").text


def test_a_run_that_goes_on_and_one_that_was_killed_are_told_apart(tmp_path):
    with Run(tmp_path, xml(DATA)) as run:
        ranks = run.init()
        write(ranks, range(2))
        assert report(tmp_path, "run").startswith("run  running; as of 2")
        run.kill_all()
        assert report(tmp_path, "run").startswith("run  killed: nothing of it runs here any more; as of 2")
        subprocess.run([BUILD / "bin/leat", "recover"], env=run.environment, cwd=tmp_path, check=True, timeout=LIMIT, capture_output=True)
    assert "everything of it was killed; " in report(tmp_path, "run")


@pytest.mark.parametrize("text", ["", "[]", "[" * 100_000, '{"leat_ledger": 1, "entries": null}', '{"leat_ledger": 1, "session": 7}',
                                  '{"leat_ledger": 1, "entries": [{"variable": "u", "fate": "written", "iterations": [0, 1e99, 1]}]}'])
def test_a_damaged_ledger_is_said_to_be_one(tmp_path, text):
    (tmp_path / "run.ledger.json").write_text(text)
    assert report(tmp_path, "run", code=1) == "leat report: run.ledger.json is damaged, or of another version of Leat\n"


def test_a_page_of_many_long_failures_is_no_large_one(tmp_path):
    why = '<"&' * 110
    ledger = {"leat_ledger": 1, "simulation": "run", "session": "s", "node": "n", "state": "died", "lost": 600, "stores": [],
              "scripts": [{"name": f"s{i}{'<' * 300}", "calls": 9, "failed": 3, "skipped": 1, "why": why} for i in range(300)],
              "warnings": [{"text": why}] * 300,
              "entries": [{"variable": f"v{i}", "fate": "failed", "store": "o", "iterations": [0, 9, 1], "blocks": 2, "bytes": 2,
                           "why": why} for i in range(300)]}
    (tmp_path / "run.ledger.json").write_text(json.dumps(ledger))
    assert "more, in the ledger" in page_of(tmp_path, "run").text


def test_a_page_takes_the_place_of_no_device(tmp_path):
    make_run(tmp_path, 2)
    page = subprocess.run([BUILD / "bin/leat", "report", "run", "--html", "/dev/stdout"], cwd=tmp_path, capture_output=True, text=True,
                          timeout=LIMIT)
    assert page.stdout.startswith("<!doctype html>") and os.path.islink("/dev/stdout")
    (tmp_path / "link.html").symlink_to("page.html")
    for _ in range(2):  # where there is none yet, and where there is one
        assert "made link.html" in report(tmp_path, "run", "--html", "link.html")
        assert (tmp_path / "link.html").is_symlink() and (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    with open("/dev/full", "w") as full:
        done = subprocess.run([BUILD / "bin/leat", "report", "run"], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True,
                              timeout=LIMIT)
    assert done.returncode == 1 and done.stderr == "leat report: cannot print: No space left on device\n"


def test_what_is_not_there_is_said(tmp_path):
    make_run(tmp_path, 2)
    assert "there is no rum.ledger.json; there are: run" in report(tmp_path, "rum", code=1)
    assert 'there is no folder "nowhere"' in report(tmp_path, "nowhere/run", code=1)
    assert "cannot write nowhere/x.html" in report(tmp_path, "run", "--html", "nowhere/x.html", code=1)
    assert "RUN" in report(tmp_path, code=2)
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["iteration"].shape == (2,)

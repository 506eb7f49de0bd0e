# SPDX-License-Identifier: Apache-2.0
"""`leat trace`: its screen, its picture, and how it finds the traces of a run."""
import json
import re
import time
import xml.etree.ElementTree as tree

import pytest
from leat_run import Run
from trace_run import config, leat, write


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    folder = tmp_path_factory.mktemp("traced")
    with Run(folder, config(), ranks=2) as run:
        run.init()
        write(run, range(6), between=lambda: time.sleep(0.01))
        run.finish()
    return folder


@pytest.mark.parametrize("name", ["run.pftrace", ".", "run", "run.h5", "run.ledger.json", "./run.xml"])
def test_a_run_is_found_by_any_of_its_files(traced, name):
    done = leat(traced, "trace", name)
    assert done.returncode == 0, done
    assert "of 1 server, " in done.stdout and "run.pftrace" in done.stdout
    rows = {found[1]: found[2] for found in re.finditer(r"^  (rank \d|pipeline|store out) +(\d+) ", done.stdout, re.MULTILINE)}
    assert rows.keys() == {"rank 0", "rank 1", "pipeline", "store out"} and (rows["pipeline"], rows["store out"]) == ("6", "8")


def test_the_picture_has_a_row_for_each_track_and_a_legend(traced):
    done = leat(traced, "trace", "run.pftrace", "--svg", "run.svg")
    assert (done.returncode, done.stdout) == (0, "made run.svg\n")
    root = tree.parse(traced / "run.svg").getroot()
    space = "{http://www.w3.org/2000/svg}"
    texts = ["".join(text.itertext()) for text in root.iter(f"{space}text")]
    for label in ("rank 0", "rank 1", "server", "pipeline", "store out", "buffer in use", "iterations waiting"):
        assert any(text.startswith(label) for text in texts), (label, texts)
    assert {"leat_write", "leat_end_iteration", "store"} <= set(texts)
    width = float(root.get("width"))
    titles = [title.text for title in root.iter(f"{space}title")]
    assert sum(title.startswith("iteration ") for title in titles) >= 6
    for rect in root.iter(f"{space}rect"):
        assert 0 <= float(rect.get("x", 0)) and float(rect.get("x", 0)) + float(rect.get("width")) <= width + 1


@pytest.mark.parametrize("words, code, text", [
    (["nothing"], 1, 'there is no trace of "nothing"'),
    (["no.pftrace"], 1, 'there is no trace of "no.pftrace"'),
    (["run.pftrace", "-o", "no/where"], 1, "cannot write no/where"),
    (["other.pftrace"], 1, "is no trace that a server of Leat wrote"),
    ([], 2, "RUN"),
])
def test_what_it_refuses(traced, words, code, text):
    (traced / "other.pftrace").write_bytes(b"something else")
    done = leat(traced, "trace", *words)
    assert done.returncode == code and text in done.stderr, done


def test_leat_report_names_it(traced):
    done = leat(traced, "report", "run")
    assert done.returncode == 0 and re.search(r"^  trace +run\.pftrace \(", done.stdout, re.MULTILINE), done
    assert json.loads(leat(traced, "report", "run", "--json").stdout)["traces"] == ["run.pftrace"]

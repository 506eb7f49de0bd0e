# SPDX-License-Identifier: Apache-2.0
"""What the pages of `leat predict` show is what it prints: their commands are run."""
import re
import shlex

import pytest
from leat_predict import ROOT, said
from test_model import expected_longest

PAGES = ["docs/reference/leat-predict.md"]
SHOWN = re.compile(r"^    \$ leat predict (?P<words>.*)\n(?P<output>(?:    .*\n|\n(?=    ))*)", re.M)


def shown(page):
    return [(match["words"], match["output"].replace("    ", "", 1).replace("\n    ", "\n").rstrip()) for match in SHOWN.finditer(
        (ROOT / page).read_text())]


@pytest.mark.parametrize("page", PAGES)
def test_commands_of_the_pages_print_what_stands_there(page):
    assert shown(page)
    for words, output in shown(page):
        assert said(*shlex.split(words)).rstrip() == output


def test_all_options_are_on_the_page():
    page = (ROOT / PAGES[0]).read_text()
    options = set(re.findall(r"(--[a-z][a-z-]+)", said("--help"))) - {"--help"}
    assert len(options) > 15 and {option for option in options if f"`{option}" not in page} == set()


def test_the_trace_of_the_page_is_one(tmp_path):
    text = re.search(r"(    # until.*\n(?:    \d.*\n)+)", (ROOT / PAGES[0]).read_text())[1]
    (tmp_path / "node0.trace").write_text(re.sub(r"^    ", "", text, flags=re.M))
    assert "bursts as in 1 trace" in said("--ranks", 4, "--compute", "10ms", "--burst-traces", "node0.trace", cwd=tmp_path)


def test_the_picture_is_drawn_by_the_command_below_it(tmp_path):
    """Of fewer ranks here, for a shorter time."""
    page = (ROOT / "docs/explanation/predictions.md").read_text()
    words = shlex.split(re.search(r"\(\.\./pictures/predictions\.png\)\n\n    leat predict (.*)\n", page)[1])
    words[words.index("--ranks") + 1], words[words.index("--for") + 1] = "16,256", "2s"
    said(*words, cwd=tmp_path)
    assert (tmp_path / "predictions.png").read_bytes().startswith(b"\x89PNG")


def test_the_expected_longest_bursts_of_the_page_are_those_of_the_integral():
    page = " ".join((ROOT / "docs/explanation/predictions.md").read_text().split())
    assert [round(expected_longest(ranks, 40, 0.15), 1) for ranks in (1, 1000, 65_536)] == [
        float(ms) for ms in re.search(r"is (\S+) ms on one rank, (\S+) ms on a thousand, and (\S+) ms on 65,536", page).groups()]

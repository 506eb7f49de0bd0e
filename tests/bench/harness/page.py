# SPDX-License-Identifier: Apache-2.0
"""The results as one Markdown page, and as the tables of another one."""

import re

from . import targets
from .markdown import table
from .methods import METHODS
from .repeat import DISTURBED
from .sections import SECTIONS

BEGIN, END = "<!-- figures: made by tests/bench/run.py --into -->", "<!-- end of figures -->"


def page(results):
    lines = ["# Leat beside the alternatives", "", *_machine(results), ""]
    if promised := targets.page(results["sections"]):
        lines += ["## What is promised", "", *targets.ABOUT.splitlines(), "", *promised, ""]
    for name, data in results["sections"].items():
        section = SECTIONS[name]
        lines += [f"## {section.TITLE}", "", *section.ABOUT.splitlines(), ""]
        if name in results["pictures"]:
            lines += [f"![{section.TITLE}]({results['pictures'][name]})", ""]
        lines += [*section.page(data), ""]
    lines += ["## What failed", "", *_failures(results)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def _machine(results):
    said = [f"Measured {results['date']} at {results['commit']}, in {results['minutes']:.0f} minutes.", ""]
    if results["quick"]:
        said += ["**This was a run with --quick: it shows that all works, and its figures mean nothing.**", ""]
    said += table(["", "this machine"], [[name, value] for name, value in results["machine"].items()])
    needs = sorted({method.needs for method in METHODS.values() if method.needs})
    return said + [
        "Figures are medians of repetitions in turn, in brackets the least and the most. A repetition in which others",
        f"used more than {100 * DISTURBED:.0f} % of the processors is discarded, {results['discarded']} in all;",
        "*disturbed* stands where that left none, and such a figure is worth little. Some ways need more than Leat",
        f"does, which `make bench` installs: {', '.join(needs)}.",
    ]


def _failures(results):
    yield f"Bytes that were not found as they should be, in the output of all runs: {results['wrong_bytes']}."
    yield from (f"- {why.splitlines()[0]}" for why in results["failures"])


def put_into(path, results):
    """Between the two marks of a page of the documentation."""
    before, _, rest = path.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise SystemExit(f"{path} has no lines {BEGIN} and {END}")
    figures = page(results).split("\n", 2)[2]  # without the title
    path.write_text(
        before + BEGIN + "\n\n" + figures.replace("\n### ", "\n#### ").replace("\n## ", "\n### ") + "\n" + END + after
    )

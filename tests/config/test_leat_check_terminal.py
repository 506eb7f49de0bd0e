# SPDX-License-Identifier: Apache-2.0
"""`leat check` as a terminal sees it, and as a file does."""

import os
import re

import terminal
from test_leat_check import CASES, GOOD, leat


def on_a_terminal(columns, *arguments):
    return terminal.on_a_terminal(columns, os.environ["LEAT_COMMAND"], *arguments, cwd=CASES)


def test_a_terminal_has_colours():
    assert "\033[32mgood\033[0m" in on_a_terminal(100, "check", GOOD)
    assert "\033[31merror:\033[0m" in on_a_terminal(100, "check", "bad_every.xml")


def test_a_narrow_terminal_gets_paragraphs_instead_of_broken_rows():
    screen = re.sub("\033\\[[0-9]*m", "", on_a_terminal(60, "check", GOOD, "--set", "py=2"))
    assert "  temperature\n      float64  34 x 64  K  out  17 KiB\n" in screen
    assert max(len(line) for line in screen.splitlines() if "good_example" not in line) <= 60


def test_there_are_no_colours_where_nobody_looks():
    assert "\033" not in leat("check", GOOD, TERM="xterm").stdout
    assert "\033" not in leat("check", "bad_empty.xml", TERM="xterm").stderr

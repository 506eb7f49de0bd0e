# SPDX-License-Identifier: Apache-2.0
"""The programs beside the hdf5 plugin, which `leat` becomes: one file with a name for each verb."""
import subprocess

import pytest
from leat_plugin import BUILD

PLUGINS = BUILD / "lib/leat/plugins"


def run(program, *words):
    return subprocess.run([program, *words], input="", capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("verb, words, usage", [
    ("merge", ["view.h5"], "VIEW FILE [--force] [--json]"),
    ("recover", [], "FILE"),
    ("state", [], "[--inside] FILE"),
    ("recover", ["a.h5", "b.h5"], "FILE"),
    ("view", [], "TARGET [--output FILE] [--json]"),
    ("view", ["a"] * 5, "TARGET [--output FILE] [--json]")])
def test_a_program_that_is_started_in_a_wrong_way_says_how(verb, words, usage):
    done = run(PLUGINS / f"{verb}-hdf5", *words)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"usage: leat {verb} {usage}\n")


@pytest.mark.parametrize("verb, words", [
    ("merge", ["missing.h5", "to.h5", "", ""]), ("recover", ["missing.h5"]), ("view", ["missing.h5", "", ""])])
def test_what_fails_is_said_by_the_verb_once(tmp_path, verb, words):
    done = subprocess.run([PLUGINS / f"{verb}-hdf5", *words], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"leat {verb}: ") and done.stderr.count("leat ") == 1 and "missing.h5" in done.stderr


def test_for_a_server_a_view_that_fails_is_said_without_the_verb(tmp_path):
    done = run(PLUGINS / "view-hdf5", str(tmp_path / "missing"), str(tmp_path / "view.h5"), "make", "maker")
    assert done.returncode == 1
    assert not done.stderr.startswith("leat") and "missing" in done.stderr


def test_nothing_asked_is_nothing_answered():
    done = run(PLUGINS / "check-hdf5")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_name_that_is_none_of_them_is_refused():
    done = run(PLUGINS / "hdf5-tools")
    assert done.returncode == 2 and "hdf5-tools" in done.stderr

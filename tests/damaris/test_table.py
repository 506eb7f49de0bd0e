# SPDX-License-Identifier: Apache-2.0
"""The table of lib/model/damaris/mapping.def has all that there is in Damaris, the page has the table, and nothing is passed over in
silence."""
import os
import pathlib
import re
import subprocess
import sys

import pytest
from schema_of_damaris import IN_FILES, OPTIONS, SCHEMA, WORDS

ROOT = pathlib.Path(__file__).parents[2]
LEAT = pathlib.Path(os.environ["LEAT_BUILD"]) / "bin" / "leat"
HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(ROOT / "xml-schemas"))
from generate_damaris_reference import ATTRIBUTE, ELEMENT, OPTION, PAGE, TABLE, page_with, tables  # noqa: E402

DEFINITION = TABLE.read_text()
ATTRIBUTES = {(e, a): (values, fate) for e, a, _, values, fate, _, _ in ATTRIBUTE.findall(DEFINITION)}


def missing(schema, elements, attributes):
    wanted = {(e, a) for e, all_ in schema.items() for a in all_.split()}
    return (set(schema) - elements) | (wanted - attributes)


@pytest.mark.parametrize("schema", [SCHEMA, IN_FILES], ids=["schema", "files"])
def test_the_table_has_what_the_schema_has(schema):
    assert missing(schema, {e for e, *_ in ELEMENT.findall(DEFINITION)}, set(ATTRIBUTES)) == set()


def test_what_the_table_lacks_is_found():
    assert missing({"layout": "name ghosts"}, {"layout"}, {("layout", "name")}) == {("layout", "ghosts")}


@pytest.mark.parametrize("place", WORDS, ids=" ".join)
def test_the_table_has_the_words_of_the_schema(place):
    assert ATTRIBUTES[place][0].split("|") == WORDS[place].split()


def test_the_table_has_the_options_of_stores():
    assert [key for key, *_ in OPTION.findall(DEFINITION)] == OPTIONS.split()


def test_every_line_of_the_table_is_one_that_the_page_is_made_of():
    found = sum(len(kind.findall(DEFINITION)) for kind in (ELEMENT, ATTRIBUTE, OPTION))
    assert found == len(re.findall(r"^LEAT_DAMARIS_", DEFINITION, re.M)) > 150


def test_the_page_is_that_of_the_table():
    assert page_with(PAGE.read_text(), tables(DEFINITION)) == PAGE.read_text()


def leat(verb, file, cwd=HERE):
    return subprocess.run([LEAT, verb, file], cwd=cwd, capture_output=True, text=True, timeout=60)


VALUES = {"#count": "7", "#yes": "false", "": "odd"}


UNEQUAL = [place for place, (_, fate) in ATTRIBUTES.items() if fate in ("noted", "lost")]


def odd_value(place):
    if place == ("pyscript", "external"):  # what says nothing is "false" there
        return "true"
    kind = ATTRIBUTES[place][0]
    return VALUES.get(kind, kind.split("|")[-1])


@pytest.fixture(scope="module")
def said_of_all(tmp_path_factory):
    """Of one file that has all of them at once, each in the first element of its kind."""
    text = (HERE / "all_elements.xml").read_text()
    for element, attribute in UNEQUAL:
        text = re.sub(rf'(<{element}\b[^>]*?)\s+{attribute}="[^"]*"', r"\1", text, count=1)
        text = re.sub(rf"<{element}\b", f'<{element} {attribute}="{odd_value((element, attribute))}"', text, count=1)
    folder = tmp_path_factory.mktemp("odd")
    (folder / "it.xml").write_text(text)
    return leat("check", "it.xml", folder).stderr


@pytest.fixture(scope="module")
def said_of_none():
    return leat("check", "all_elements.xml").stderr


@pytest.mark.parametrize("element, attribute", UNEQUAL)
def test_what_has_no_equal_is_said(said_of_all, element, attribute):
    assert f'{attribute}="{odd_value((element, attribute))}" of <{element}>: ' in said_of_all


@pytest.mark.parametrize("element", [e for e, _, fate, _ in ELEMENT.findall(DEFINITION) if fate in ("noted", "lost")])
def test_elements_that_have_no_equal_are_said(said_of_none, element):
    assert re.search(rf"all_elements.xml:\d+:\d+: warning: <{element}> ", said_of_none)


def test_convert_writes_to_standard_output_what_check_finds_good(tmp_path):
    converted = leat("convert", "opm_flow.xml")
    assert converted.returncode == 0 and 'is stored in "MyStore" as well' in converted.stderr
    assert '<option name="select-file" value="CELL_INDEX: PRESSURE, MPI_RANK"/>' in converted.stdout
    (tmp_path / "leat.xml").write_text(converted.stdout)
    checked = leat("check", "leat.xml", tmp_path)
    assert checked.returncode == 0 and checked.stdout.endswith("good\n")
    # Of what the simulation is to say before it writes.
    (said,) = checked.stderr.split("\n")[1:-1]
    assert " note: sizes are those of n_elements_local=1: where the simulation sets another value, " in said
    assert max(map(len, converted.stdout.splitlines())) <= 100


def test_convert_of_a_bad_file_says_why_and_writes_nothing():
    converted = leat("convert", "bad_layout.xml")
    assert (converted.returncode, converted.stdout) == (1, "")
    assert 'bad_layout.xml:17:24: error: unknown layout "cels"; did you mean "cells"?' in converted.stderr


def test_the_page_says_what_leat_says():
    said = leat("check", "bad_layout.xml").stderr
    shown = re.search(r"```console\n\$ leat check bad_layout.xml\n(.*?)\.\.\.\n```", PAGE.read_text(), re.S)[1]
    assert shown and all(line in said for line in shown.splitlines())

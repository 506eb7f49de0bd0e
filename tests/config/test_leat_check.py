# SPDX-License-Identifier: Apache-2.0
"""The whole command `leat check`, as people and scripts run it."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import xarray

CASES = Path(__file__).parent
GOOD = "good_example.xml"


def leat(*arguments, **environment):
    return subprocess.run(
        [os.environ["LEAT_COMMAND"], *arguments],
        cwd=CASES,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


def check_text(tmp_path, text, *arguments):
    file = tmp_path / "heat.xml"
    file.write_text(text)
    return leat("check", str(file), *arguments)


HEADER = 192  # of each block in the segment

SIZED = """<simulation name="heat">
  <architecture><buffer size="{buffer}"/></architecture>
  <data>
    <parameter name="n" type="int" value="1024"/>
    <layout name="cells" type="double" dimensions="n,128"/>
    <variable name="t" layout="cells"/>
  </data>
  <storage><store name="out" type="hdf5"/></storage>
</simulation>
"""


def test_a_good_file_gives_one_screen_and_0():
    result = leat("check", GOOD, "--ranks", "8", "--per-node", "4", "--set", "py=2")
    assert result.returncode == 0
    assert result.stderr == ""
    assert "temperature  float64  34 x 64  K     out             17 KiB" in result.stdout
    assert "all 8 ranks on 2 nodes   138 KiB" in result.stdout
    assert "room for 7626 iterations" in result.stdout
    assert result.stdout.endswith("good\n")


def test_what_the_simulation_sets_is_named_and_no_error():
    result = leat("check", GOOD)
    assert result.returncode == 0
    assert "set by the simulation: py" in result.stdout
    assert "needs py" in result.stdout


def test_a_bad_file_gives_all_errors_and_1():
    result = leat("check", "bad_many_at_once.xml")
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.count(": error: ") == 9
    assert result.stderr.endswith("9 errors in bad_many_at_once.xml\n")


def test_a_file_that_is_not_there_gives_1():
    result = leat("check", "nothing.xml")
    assert result.returncode == 1
    assert "nothing.xml: error: cannot read the file: no such file" in result.stderr


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["chek", GOOD], 'no command "chek"; did you mean "check"?'),
        (["check"], "FILE is required"),
        (["check"], "--ranks"),
        (["ctl", "heat"], "VERB is required"),
        (["ctl", "heat"], "reload-scripts"),
        (["check", GOOD, "--rank", "3"], "--rank"),
        (["check", GOOD, "--ranks", "0"], "--ranks"),
        (["check", GOOD, "--set", "nz=3"], 'there is no parameter "nz"; did you mean "n'),
        (["check", GOOD, "--set", "nx"], "expected name=value"),
        (["check", GOOD, "--set", "nx=many"], "with a whole number"),
    ],
)
def test_a_wrong_command_line_gives_2(arguments, words):
    result = leat(*arguments)
    assert result.returncode == 2
    assert words in result.stderr


def test_help_shows_all_commands_in_the_order_of_a_run():
    said = leat("--help").stdout
    groups = re.split(r"\n(Before a run|While it runs|Afterwards|Subcommands):\n", said)
    assert groups[1::2] == ["Before a run", "While it runs", "Afterwards"]
    first = [re.match(r"  (\w+) ", group)[1] for group in groups[2::2]]
    assert first == ["check", "ctl", "ls"]


def test_help_says_the_exit_codes():
    result = leat("check", "--help")
    assert result.returncode == 0
    assert "Exit codes: 0 the file is good; 1 it has errors" in result.stdout


def test_an_iteration_that_cannot_fit_is_an_error(tmp_path):
    result = check_text(tmp_path, SIZED.format(buffer="3MiB"), "--per-node", "4")
    assert result.returncode == 1
    assert "one iteration does not fit into the buffer: it takes 4.0 MiB per node" in result.stderr
    assert "room for 0 iterations" in result.stdout


def test_a_buffer_for_one_iteration_is_a_warning(tmp_path):
    result = check_text(tmp_path, SIZED.format(buffer="7MiB"), "--per-node", "4")
    assert result.returncode == 0
    assert "warning: only one iteration fits into the buffer" in result.stderr


def test_a_value_of_set_that_makes_no_size_is_an_error(tmp_path):
    result = check_text(tmp_path, SIZED.format(buffer="7MiB"), "--set", "n=-1")
    assert result.returncode == 1
    assert 'variable "t" can have no size: "n" is -1' in result.stderr


ASKED = """<simulation name="h"><architecture><buffer size="16MiB"/></architecture><data>
    <parameter name="t" type="double"/><parameter name="n" type="int" value="1"/><parameter name="m" type="int"/>
    <parameter name="steps" type="int" value="1"/><parameter name="other" type="int"/><time parameter="t"/>
    <layout name="cells" type="double" dimensions="{dimensions}"/><variable name="u" layout="cells"/></data>
    <storage><store name="out" type="hdf5"/></storage></simulation>"""


@pytest.mark.parametrize("dimensions, hint, note", [
    ("m,n", "set by the simulation: t, m, other  (--set m=... shows the sizes)\n", "sizes are those of n=1: where the simulation sets"),
    ("m*m", "set by the simulation: t, m, other  (--set m=... shows the sizes)\n", None),
    ("8", "set by the simulation: t, m, other\n", None),
    ("?", "set by the simulation: t, m, other\n", None),
])
def test_values_are_asked_for_where_sizes_need_them(tmp_path, dimensions, hint, note):
    result = check_text(tmp_path, ASKED.format(dimensions=dimensions))
    assert result.returncode == 0 and hint in result.stdout, result.stdout
    assert result.stderr.count("note:") == (note is not None) and (note or "") in result.stderr, result.stderr
    result = check_text(tmp_path, ASKED.format(dimensions=dimensions), "--set", "m=8", "--set", "n=8")
    assert result.returncode == 0 and "(--set" not in result.stdout and result.stderr == "", result


PLACED = """<simulation name="h"><architecture><buffer size="16MiB"/></architecture><data>
    <parameter name="x0" type="double"/><parameter name="lx" type="double"/><parameter name="nx" type="int"/>
    <parameter name="i0" type="int"/><parameter name="title" type="string"/>
    <layout name="cells" type="double" dimensions="4,nx" global="8,nx" position="i0,0" names="y,x"/>
    <mesh name="plate" type="uniform" origin="x0,0" spacing="lx/nx,1"/><variable name="u" layout="cells" mesh="plate"/></data>
    <storage><store name="out" type="hdf5"/></storage></simulation>"""


@pytest.mark.parametrize("values, code, words", [
    ([], 0, "set by the simulation: x0, lx, nx, i0, title  (--set nx=..."),
    (["nx=8,i0=4,x0=-1.5,lx=2,title=a,b"], 0, "4 x 8"),
    (["nx=8", "lx=-2,x0=0"], 1, 'heat.xml:5:5: error: mesh "plate": spacing along x ("lx/nx") is -0.25: the distance of nodes must be '
     "more than 0"),
    (["nx=8,lx=nan,x0=0"], 1, 'spacing along x ("lx/nx") is nan, which is no place'),
    (["nx=8,i0=5"], 1, 'layout "cells": along "y" a block of 4 begins at 5, and the whole has 8'),
    (["lx=long"], 2, "--set lx=long: expected name=value with a number, like lx=0.25"),
    (["nx=2.5"], 2, "--set nx=2.5: expected name=value with a whole number, like nx=256"),
    (["nx=8,lz=1"], 2, '--set lz=1: there is no parameter "lz"; did you mean "lx"?'),
])
def test_set_gives_parameters_of_any_type_a_value(tmp_path, values, code, words):
    result = check_text(tmp_path, PLACED, *(word for each in values for word in ("--set", each)))
    assert result.returncode == code, result
    assert words in result.stdout + result.stderr, result.stdout + result.stderr


UNITS = ["seconds", "m s-1", "days since 2000-01-01", "days since yesterday", "months since 2000-01-01", "fortnights since 2000-01-01",
         "s since 2000-1-1", "hours since 2000-01-01T12", "hours since 2000-01-01 12:00Z", "hours since 2000-01-01 12:00:00 +1:00",
         "hours since 2000-01-01 12:30:00.5 UTC", "h since 2000-02-30", "days since 2001-02-29", "days since 1900-02-29",
         "days since 2000-02-29", "days since 2000-13-01", "hours since 2000-01-01 25:00", "hours since 2000-01-01 12:61",
         "since 2000-01-01", "days since", "msec since 2000-01-01"]


@pytest.mark.parametrize("calendar", ["standard", "proleptic_gregorian", "julian", "noleap", "all_leap", "360_day"])
def test_the_unit_of_the_time_is_good_where_xarray_can_tell_its_dates(tmp_path, calendar):
    text = ASKED.format(dimensions="8")
    for unit in UNITS:
        result = check_text(tmp_path, text.replace('<time parameter="t"/>', f'<time parameter="t" unit="{unit}" calendar="{calendar}"/>'))
        times = xarray.Dataset(coords={"time": ("time", [0.0, 1.5], {"units": unit, "calendar": calendar})})
        try:
            xarray.decode_cf(times)
            is_good = True
        except (ValueError, TypeError):
            is_good = False
        assert (result.returncode == 0) == is_good, (unit, result.stderr)
        assert is_good or f'the unit of the time, "{unit}": ' in result.stderr, result.stderr


@pytest.mark.parametrize("order", ["c", "fortran"])
def test_shapes_are_shown_in_the_order_of_the_xml(tmp_path, order):
    text = ASKED.format(dimensions="22,102").replace("<layout ", f'<layout order="{order}" ')
    assert " 22 x 102 " in check_text(tmp_path, text).stdout


def test_json_has_the_same_facts():
    result = leat("check", GOOD, "--json", "--per-node", "4", "--set", "py=2")
    assert result.returncode == 0
    facts = json.loads(result.stdout)
    assert facts["good"] is True
    assert facts["variables"] == [
        {
            "name": "temperature",
            "type": "float64",
            "shape": ["34", "64"],
            "dimensions": ["y", "x"],
            "global": ["ny", "nx"],
            "ghosts": [[1, 1], [0, 0]],
            "time_varying": True,
            "unit": "K",
            "description": "",
            "stores": ["out"],
            "bytes_per_rank": 34 * 64 * 8,
            "why_unknown": "",
        }
    ]
    assert facts["memory"]["bytes_per_node"] == 4 * (34 * 64 * 8 + HEADER)
    assert facts["memory"]["complete"] is True
    assert facts["set_by_simulation"] == []


def test_json_has_the_errors_with_their_places():
    result = leat("check", "bad_unknown_layout.xml", "--json")
    assert result.returncode == 1
    facts = json.loads(result.stdout)
    assert facts["good"] is False
    assert facts["diagnostics"] == [
        {
            "severity": "error",
            "file": "bad_unknown_layout.xml",
            "line": 4,
            "column": 24,
            "message": 'unknown layout "cell"; did you mean "cells"?',
        }
    ]


def test_many_blocks_of_a_rank_are_counted_by_the_hint_of_their_layout(tmp_path):
    text = SIZED.format(buffer="64MiB").replace('dimensions="n,128"', 'dimensions="8,8,8" blocks="500"')
    result = check_text(tmp_path, text, "--ranks", "4")
    assert re.search(r"t +float64 +8 x 8 x 8, 500 blocks +- +out +2.0 MiB\n", result.stdout), result.stdout
    assert re.search(r"node of 4 ranks +8.2 MiB\n", result.stdout) and "room for 7 iterations" in result.stdout, result.stdout
    facts = json.loads(check_text(tmp_path, text, "--ranks", "4", "--json").stdout)
    assert facts["memory"]["bytes_per_node"] == 4 * 500 * (4096 + HEADER) and facts["variables"][0]["blocks"] == 500
    result = check_text(tmp_path, text.replace("500", "5000"), "--ranks", "4")
    assert result.returncode != 0 and "one iteration does not fit into the buffer" in result.stdout + result.stderr


UNIFORM = SIZED.replace('layout="cells"/>', 'layout="cells" mesh="m"/><mesh name="m" type="uniform" spacing="1,1"/>').format(buffer="64MiB")


@pytest.mark.parametrize("dimensions, options, is_said", [
    ("n,128", (), True), ("n,128", ("--ranks", "4"), True), ("n,128", ("--ranks", "1"), False),
    ("n,?", ("--ranks", "1"), True), ('n,128" blocks="3', ("--ranks", "1"), True), ('n/4,128" global="n,128', (), False)])
def test_a_uniform_mesh_whose_blocks_have_no_place_is_warned_of(tmp_path, dimensions, options, is_said):
    result = check_text(tmp_path, UNIFORM.replace('dimensions="n,128"', f'dimensions="{dimensions}"'), *options)
    assert result.returncode == 0, result.stderr + result.stdout
    said = 'warning: variable "t" lies on the uniform mesh "m", and its layout "cells" has no global="..."'
    assert (said in result.stdout + result.stderr) == is_said, result.stdout + result.stderr


def test_what_no_store_takes_needs_no_memory(tmp_path):
    text = SIZED.format(buffer="64MiB").replace('layout="cells"/>', 'layout="cells" store="none"/>')
    result = check_text(tmp_path, text)
    assert re.search(r"t +float64 +1024 x 128 +- +none +-\n", result.stdout)
    assert re.search(r"one rank +0 B\n", result.stdout)


def test_a_pipe_that_nobody_writes_to_is_refused_at_once(tmp_path):
    """To open it would take for ever."""
    os.mkfifo(tmp_path / "pipe.xml")
    (tmp_path / "outer.xml").write_text('<simulation name="x"><include file="pipe.xml"/></simulation>')
    leat = os.environ["LEAT_COMMAND"]
    for words, status in ((["check", "pipe.xml"], 1), (["check", "outer.xml"], 1), (["plan", "--from", "pipe.xml"], 2),
                          (["placement", "--machine", "pipe.xml"], 1)):
        said = subprocess.run([leat, *words], cwd=tmp_path, capture_output=True, text=True, timeout=30)
        assert said.returncode == status and ("pipe or a device" in said.stderr or "outer.xml" in said.stderr), (words, said)


def test_a_name_with_which_no_file_could_be_called_is_an_error(tmp_path):
    (tmp_path / "long.xml").write_text(f'<simulation name="{"x" * 129}"/>')
    said = subprocess.run([os.environ["LEAT_COMMAND"], "check", "long.xml"], cwd=tmp_path, capture_output=True, text=True, timeout=30)
    assert said.returncode == 1 and "128 are the most" in said.stderr, said


def test_leat_alone_says_what_one_can_do():
    result = leat()
    assert result.returncode == 0 and result.stderr == ""
    lines = result.stdout.splitlines()
    assert len(lines) <= 20 and all(len(line) <= 80 for line in lines)
    verbs = {line.split()[1] for line in lines if line.startswith("  leat ")}
    known = leat("--help").stdout
    assert {"check", "top", "ctl", "report", "ls"} <= verbs and all(f"\n  {verb} " in known for verb in verbs)


LONG = """<simulation name="run"><data><parameter name="t" type="double"/><time parameter="t" unit="s"/>
<layout name="cells" type="double" dimensions="8"/><variable name="u" layout="cells"/>
<variable name="um" expr="u" operation="mean" every="1000"/>
<variable name="ud" expr="u" operation="mean" every="1 d"/>
</data><storage>
<store name="out" type="hdf5" every="700"/></storage></simulation>"""


@pytest.mark.parametrize("length, said", [
    (("--iterations", "1000"), []), (("--iterations", "1000", "--time-step", "2 min"), []),
    (("--iterations", "999"), ['3:1: warning: variable "um" has nothing, as no period of every="1000" ends: a run of 999 iterations']),
    (("--iterations", "600", "--time-step", "2 min"), ['variable "um"', 'variable "ud" has nothing, as no period of every="1 d" ends: '
     "a run of 600 iterations takes 20 h of its time, and ends before", 'store "out" has the first iteration alone, of every="700"'])])
def test_periods_that_do_not_end_in_the_run_are_said(tmp_path, length, said):
    result = check_text(tmp_path, LONG, *length)
    assert result.returncode == 0 and result.stderr.count("warning") == len(said), result.stderr
    for each in said:
        assert each in result.stderr, result.stderr


def test_a_time_step_is_a_time(tmp_path):
    result = check_text(tmp_path, LONG, "--iterations", "5", "--time-step", "2 parsecs")
    assert result.returncode == 2 and '--time-step "2 parsecs" is no time of the simulation' in result.stderr

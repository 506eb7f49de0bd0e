# SPDX-License-Identifier: Apache-2.0
"""`leat convert` of definitions of XIOS: how files are read, and what is said of wrong ones."""

import contextlib
import io
import random
import re
import sys
from pathlib import Path

import pytest
from xios_files import GRIDS, context, converted, made_of

sys.path.insert(0, str(Path(__file__).parents[2] / "python-plugins"))
from leat.xios import command, expressions, periods  # noqa: E402

SST = '<field id="sst" grid_ref="surface"/>'
FILE = '<file id="f" output_freq="1d"><field field_ref="sst"/></file>'


def refused(tmp_path, text, *words):
    result = converted(tmp_path, text)
    assert result.returncode == 1 and result.stdout == "" and "Traceback" not in result.stderr
    for word in words:
        assert re.search(word, result.stderr), result.stderr
    return result.stderr


def test_src_is_read_where_it_stands(tmp_path):
    (tmp_path / "defs").mkdir()
    (tmp_path / "defs/context.xml").write_text(
        '<context id="ocean"><field_definition src="./fields.xml"/><field_definition src="more.xml" prec="4"/>'
        f"<file_definition>{FILE}</file_definition>{GRIDS}</context>")
    (tmp_path / "defs/fields.xml").write_text(f'<field_definition operation="average">{SST}</field_definition>')
    (tmp_path / "defs/more.xml").write_text('<field_definition prec="8" operation="instant"><field id="b"/></field_definition>')
    result = converted(tmp_path, '<simulation><context id="ocean" src="./defs/context.xml"/></simulation>')
    assert result.returncode == 0 and '<variable name="sst" expr="\'raw/sst\'" operation="mean"' in result.stdout, result.stderr


def test_a_file_that_is_not_there_is_said_where_it_is_named(tmp_path):
    refused(tmp_path, '<simulation>\n  <context id="a" src="$NOWHERE/b.xml"/></simulation>',
            r'iodef.xml:2:3: error: cannot read "\$NOWHERE/b.xml": No such file')


def test_files_that_take_each_other_in_are_a_circle(tmp_path):
    (tmp_path / "b.xml").write_text('<context id="a"><field_definition src="c.xml"/></context>')
    (tmp_path / "c.xml").write_text('<field_definition>\n<field_group src="c.xml"/></field_definition>')
    refused(tmp_path, '<simulation><context src="b.xml"/></simulation>',
            r'c.xml:2:1: error: src="c.xml" takes in a file that is being read: a circle')


def test_a_file_of_another_kind_is_refused(tmp_path):
    (tmp_path / "b.xml").write_text("\n<axis_definition/>")
    refused(tmp_path, '<context id="a"><field_definition src="b.xml"/></context>',
            "b.xml:2:1: error: <field_definition> takes this file in, and it begins with <axis_definition>")


@pytest.mark.parametrize("text, words", [
    ("<simulation>\n <context>\n</simulation>", r"iodef.xml:3:3: error: this is no XML: mismatched tag: <context> of line 2 is still open"),
    ('<simulation>\n <context id="a" id="b"/></simulation>', r"iodef.xml:2:\d+: error: this is no XML: duplicate attribute"),
    ("<simulation><context/>", r"iodef.xml:1:23: error: this is no XML: no element found|unclosed"),
    ("<context", "iodef.xml:1:.*: error: this is no XML: unclosed token"),
    ('<!DOCTYPE a [<!ENTITY b "c">]>\n<context id="a">&b;</context>', "error: definitions of XIOS have no DOCTYPE"),
    ("<context>" + "<field_group>" * 200 + "</field_group>" * 200 + "</context>", "more than 100 deep"),
])
def test_broken_xml_is_said_with_line_and_column(tmp_path, text, words):
    refused(tmp_path, text, words)


def test_comments_and_declarations_are_read_as_xios_does(tmp_path):
    text = "<!-- a -- comment <\\!-- of NEMO -\\-> -->\n<?xml version='1.0'?>\n" + context(SST, FILE)
    assert converted(tmp_path, text).returncode == 0


def test_unknown_elements_and_attributes_are_left_out_and_the_nearest_named(tmp_path):
    made = made_of(tmp_path, SST.replace("/>", ' untit="K"/>') + "<feild id='b'/>", FILE, GRIDS + "<scalar_defintion/>")
    assert re.search(r'iodef.xml:2:\d+: warning: XIOS has no attribute untit="..." of <field>, .*did you mean "unit"\?', made.said)
    assert re.search(r'iodef.xml:2:\d+: warning: XIOS has no element <feild>, .*did you mean "field"\?', made.said)
    assert 'did you mean "scalar_definition"?' in made.said


@pytest.mark.parametrize("fields, files, words", [
    (SST, FILE.replace('"sst"', '"sts"'), r'iodef.xml:3:\d+: error: field_ref="sts": there is no <field> .*; did you mean "sst"\?'),
    (SST, FILE.replace("/></file>", ">ssst * 2</field></file>"), r'"ssst" in its expression is no <field>; did you mean "sst"\?'),
    (SST, FILE.replace("/></file>", ">$rho * 2</field></file>"), r'"\$rho" in an expression is no <variable>'),
    (SST, FILE.replace("/></file>", ">sst ** 2</field></file>"), r'field "sst": "sst \*\* 2": a name or a number is missing before \*'),
    (SST, FILE.replace("/></file>", ">tanh(sst)</field></file>"), r'there is no function "tanh"; there are: cos, sin'),
    (SST, '<file id="f" output_freq="1d"><field_group group_ref="g"/></file>', r'group_ref="g": there is no <field_group>'),
    (SST, FILE.replace("1d", "1week"), r'output_freq="1week" of <file id="f">: "1week" is no duration; expected one like "6h"'),
    (SST, FILE.replace("1d", "1mo1d"), "together are no period of Leat"),
    (SST, FILE.replace("1d", "0s"), "more than nothing"),
    ('<field id="a" field_ref="b"/><field id="b" field_ref="a"/>', FILE.replace("sst", "a"), r'in a circle: "a" -> "b" -> "a"'),
    ('<field id="sst" field_ref="sst"/>', FILE, r'in a circle: "sst" -> "sst"'),
    ('<field id="sst" grid_ref="surface">b</field><field id="b" grid_ref="surface">sst</field>', FILE,
     r'made of each other in a circle: "sst" -> "b" -> "sst"'),
    (SST.replace("/>", ' operation="averge"/>'), FILE, r'operation="averge" is none of XIOS; did you mean "average"\?'),
    (SST, "", "no file of these definitions has a field in it that is written"),
])
def test_what_is_wrong_is_said_with_its_place(tmp_path, fields, files, words):
    refused(tmp_path, context(fields, files), words, "; nothing is written")


def test_all_errors_are_said_at_once(tmp_path):
    files = FILE.replace('"sst"', '"a"') + FILE.replace('"f"', '"g"').replace('"sst"', '"b"')
    assert "2 errors in iodef.xml" in refused(tmp_path, context(SST, files))


def test_what_no_file_needs_may_refer_to_nothing(tmp_path):
    made = made_of(tmp_path, SST + '<field id="b" field_ref="sts"/>', FILE)
    assert re.search(r'iodef.xml:2:\d+: warning: field_ref="sts": there is no <field> with this id; did you mean "sst"\?', made.said)


def test_grids_that_the_program_makes_are_said(tmp_path):
    made = made_of(tmp_path, SST, FILE, '<grid_definition><grid id="surface"><domain domain_ref="face"/></grid></grid_definition>')
    assert re.search(r'warning: domain_ref="face": there is no <domain> with this id, so the program makes it', made.said)
    assert 'grid "surface", which the program makes' in made.said and "face_ni,face_nj" in made.text
    made = made_of(tmp_path, SST, FILE, "")
    assert 'grid_ref="surface": there is no <grid>' in made.said and 'dimensions="?"' in made.text


def test_a_long_chain_of_references_ends(tmp_path):
    fields = SST + "".join(f'<field id="sst{i}" field_ref="sst{i - 1 or ""}"/>' for i in range(1, 3000))
    result = converted(tmp_path, context(fields, FILE.replace('"sst"', '"sst2999"')))
    assert "Traceback" not in result.stderr and (result.returncode == 0 or "too many elements" in result.stderr)


def test_an_expression_that_grows_is_left_out(tmp_path):
    fields = SST + "".join(f'<field id="a{i}" field_ref="sst">{f"a{i - 1}" if i else "sst"} * {f"a{i - 1}" if i else "sst"}</field>'
                           for i in range(30))
    made = made_of(tmp_path, fields, FILE + FILE.replace('"f"', '"g"').replace('"sst"', '"a29"'))
    assert "an expression of more than 10000 letters: left out" in made.said


WHOLE = context(
    SST + '<field_group id="g" grid_ref="volume" unit="m"><field id="t" long_name="a &amp; b"/>'
    '<field id="t2"> t * t </field></field_group>',
    '<file_group output_freq="6h"><file id="a" name="x"><field field_ref="t2" operation="instant" freq_op="6h"> @t2 - $r * @t </field>'
    '<field_group group_ref="g"/></file></file_group>', GRIDS + '<variable_definition><variable id="r">2</variable></variable_definition>')
PIECES = ["<", ">", "/", '"', "=", "&", "<field ", 'field_ref="t"', 'group_ref="g"', "@", "$", "(", "\n", "<!--", "-->", "]]>", "\x00",
          'src="iodef.xml"', 'grid_ref="volume"', 'domain_ref="T"', "freq", "é", "1e999", "-1d"]


def test_garbled_definitions_give_errors_and_no_traceback(tmp_path, monkeypatch):
    seed = random.SystemRandom().randrange(2**32)
    print("seed", seed)
    dice = random.Random(seed)
    monkeypatch.chdir(tmp_path)
    for _ in range(400):
        text = WHOLE
        for _ in range(dice.randint(1, 4)):
            at, length = dice.randrange(len(text)), dice.choice([0, 1, 1, 3, 30])
            text = text[:at] + dice.choice([*PIECES, "", ""]) + text[at + length:]
        Path("iodef.xml").write_text(text)
        monkeypatch.setattr(sys, "argv", ["leat convert", "iodef.xml"])
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as said:
            code = command.main()
        assert (code == 0) == bool(out.getvalue()), text
        assert code == 0 or ": error: " in said.getvalue(), text


def test_periods_and_expressions_survive_anything():
    seed = random.SystemRandom().randrange(2**32)
    print("seed", seed)
    dice = random.Random(seed)
    for _ in range(5000):
        text = "".join(dice.choice("0123456789.ydhmisto+-e @$()*/^<>=?:ab") for _ in range(dice.randint(0, 12)))
        with contextlib.suppress(periods.NoPeriod):
            assert periods.period(text)[0]
        with contextlib.suppress(expressions.NotRead):
            assert expressions.written(expressions.parse(text), lambda node: node.text)

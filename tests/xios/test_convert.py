# SPDX-License-Identifier: Apache-2.0
"""`leat convert` of definitions of XIOS: what becomes of fields, files, grids and calendars."""

import re
import subprocess

import pytest
from xios_files import CALENDAR, CAN_DERIVE, GRIDS, LEAT, Made, context, converted, leat, made_of

SST = '<field id="sst" grid_ref="surface" unit="degC" long_name="sea surface temperature" standard_name="sea_surface_temperature"/>'


def daily(fields, **more):
    words = " ".join(f'{name}="{value}"' for name, value in more.items())
    return f'<file id="daily" output_freq="1d" {words}>{fields}</file>'


def test_a_field_of_a_file_is_made_by_the_server_of_what_ranks_write(tmp_path):
    made = made_of(tmp_path, SST, daily('<field field_ref="sst" name="tos"/>', compression_level="4"))
    assert made.variables["raw/sst"] == {
        "layout": "surface", "unit": "degC", "description": "sea surface temperature",
        "standard-name": "sea_surface_temperature", "store": "none"}
    tos = made.variables["tos"]
    assert tos["expr"] == "'raw/sst'" and tos["operation"] == "mean" and tos["every"] == "1 d" and tos["store"] == "daily"
    assert tos["unit"] == "degC" and tos["store-type"] == "double"
    assert made.all("store") == {"daily": {"type": "hdf5", "file": "daily.h5", "compression": "deflate:4"}}
    assert made.root.get("name") == "ocean"


@pytest.mark.parametrize("word, expected", [
    ("average", "mean"), ("minimum", "min"), ("maximum", "max"), ("accumulate", "accumulate"), ("instant", None)])
def test_operations_are_those_of_leat(tmp_path, word, expected):
    made = made_of(tmp_path, SST, daily(f'<field field_ref="sst" operation="{word}"/>'))
    assert made.variables["sst"].get("operation") == expected and made.variables["sst"]["every"] == "1 d"


@pytest.mark.parametrize("freq, every", [
    ("6h", "6 h"), ("1d", "1 d"), ("5d", "5 d"), ("1mo", "1 mo"), ("1y", "1 y"), ("10ts", "10"), ("30mi", "30 min"),
    ("1800s", "30 min"), ("2h30mi", "150 min"), ("0.5s", "0.5 s"), ("1y6mo", "18 mo"), ("24mo", "2 y"), (" 6 h ", "6 h")])
def test_periods_are_those_of_leat(tmp_path, freq, every):
    made = made_of(tmp_path, SST, f'<file id="f" output_freq="{freq}"><field field_ref="sst"/></file>')
    assert made.variables["sst"]["every"] == every


def test_each_iteration_needs_no_period(tmp_path):
    made = made_of(tmp_path, SST, '<file id="f" output_freq="1ts"><field field_ref="sst"/></file>')
    assert "every" not in made.variables["sst"] and "operation" not in made.variables["sst"]


def test_groups_hand_down_and_the_nearest_counts(tmp_path):
    fields = """<field_group id="g" unit="m" operation="maximum" grid_ref="surface" prec="4">
      <field_group unit="km"><field id="a"/><field id="b" unit="cm" operation="minimum"/></field_group>
    </field_group>"""
    made = made_of(tmp_path, fields, daily('<field field_ref="a"/><field field_ref="b" operation="instant"/>'))
    assert (made.variables["a"]["unit"], made.variables["a"]["operation"], made.variables["a"]["store-type"]) == ("km", "max", "float")
    assert made.variables["b"]["unit"] == "cm" and "operation" not in made.variables["b"]


def test_a_group_in_a_file_counts_more_than_the_field_that_is_referred_to(tmp_path):
    files = daily('<field_group operation="instant"><field field_ref="sst"/></field_group>')
    assert "operation" not in made_of(tmp_path, SST, files).variables["sst"]


def test_a_level_of_compression_is_said_where_it_is_not_that_of_the_file(tmp_path):
    fields = SST + '<field id="a" compression_level="6" grid_ref="surface"/><field id="b" compression_level="0" grid_ref="surface"/>'
    files = daily('<field field_ref="sst"/><field field_ref="a"/><field field_ref="b"/>', compression_level="4", append=".TRUE.")
    made = made_of(tmp_path, fields, files)
    assert [made.variables[name].get("compression") for name in ("sst", "a", "b")] == [None, "deflate:6", "none"]
    assert made.all("store")["daily"] == {"type": "hdf5", "file": "daily.h5", "compression": "deflate:4", "append": "true"}


def test_numbers_of_two_bytes_are_packed(tmp_path):
    fields = '<field id="sst" grid_ref="surface" prec="2" scale_factor="0.01" add_offset="273.15"/>' \
             '<field id="count" grid_ref="surface" prec="2"/><field id="odd" grid_ref="surface" prec="4" scale_factor="0.1"/>'
    made = made_of(tmp_path, fields, daily('<field field_ref="sst"/><field field_ref="count"/><field field_ref="odd"/>'))
    said = {name: {key: made.variables[name].get(key) for key in ("store-type", "scale", "offset")} for name in ("sst", "count", "odd")}
    assert said["sst"] == {"store-type": "int16", "scale": "0.01", "offset": "273.15"}
    assert said["count"] == {"store-type": "int16", "scale": None, "offset": None}
    assert said["odd"] == {"store-type": "float", "scale": None, "offset": None}
    assert 'scale_factor and add_offset without prec="2": values are stored as they are (at iodef.xml:' in made.said
    (tmp_path / "leat.xml").write_text(made.text)
    result = leat("check", "leat.xml", "--explain", "sst", cwd=tmp_path)
    assert result.returncode == 0 and "-54.52 to 600.82" in result.stdout, result.stdout + result.stderr


def test_files_inherit_from_their_groups(tmp_path):
    files = """<file_group id="g" output_freq="1mo" compression_level="2" enabled=".TRUE.">
      <file id="f" name="out" name_suffix="_T"><field field_ref="sst"/></file></file_group>
      <file_group enabled=".FALSE." output_freq="1d"><file id="off"><field field_ref="sst"/></file></file_group>"""
    made = made_of(tmp_path, SST, files)
    assert made.all("store") == {"f": {"type": "hdf5", "file": "out_T.h5", "compression": "deflate:2"}}
    assert made.variables["sst"]["every"] == "1 mo"
    assert 'enabled="false": left out' in made.said


def test_a_named_group_gives_all_its_fields(tmp_path):
    fields = '<field_group id="g" grid_ref="surface"><field id="a"/><field id="b" name="bee"/></field_group>'
    made = made_of(tmp_path, fields, daily('<field_group group_ref="g" operation="instant"/>'))
    assert made.variables["a"]["expr"] == "'raw/a'" and made.variables["bee"]["expr"] == "'raw/b'"
    assert "operation" not in made.variables["a"]


def test_two_files_with_a_field_of_one_name_have_groups(tmp_path):
    files = daily('<field field_ref="sst"/>') + '<file id="monthly" output_freq="1mo"><field field_ref="sst"/></file>'
    made = made_of(tmp_path, SST, files)
    assert made.variables["daily/sst"]["every"] == "1 d" and made.variables["daily/sst"]["store"] == "daily"
    assert made.variables["monthly/sst"]["every"] == "1 mo" and made.variables["monthly/sst"]["store"] == "monthly"


def test_fields_above_the_level_of_the_file_are_left_out(tmp_path):
    fields = SST + '<field id="deep" level="7" grid_ref="surface"/><field id="not" enabled="false" grid_ref="surface"/>'
    files = daily("".join(f'<field field_ref="{name}"/>' for name in ("sst", "deep", "not")), output_level="5")
    made = made_of(tmp_path, fields, files)
    assert set(made.variables) == {"raw/sst", "sst"}
    assert "level above the output_level" in made.said


@pytest.mark.parametrize("text, expected", [
    ("sst * sst", "'raw/sst' * 'raw/sst'"),
    ("sqrt(sst^2 + ssh^2)", "sqrt(('raw/sst' ^ 2) + ('raw/ssh' ^ 2))"),
    ("sst2 - sst", "('raw/sst' * 'raw/sst') - 'raw/sst'"),
    ("sst &lt; 0 ? 0 : sst", "where('raw/sst' < 0, 0, 'raw/sst')"),
    ("sst /= ssh", "'raw/sst' != 'raw/ssh'"),
    ("$rho0 * ssh", "rho0 * 'raw/ssh'"),
    ("-ssh + 1.5e3", "(-'raw/ssh') + 1.5e3"),
])
def test_expressions_are_over_what_ranks_write(tmp_path, text, expected):
    fields = SST + '<field id="ssh" grid_ref="surface"/><field id="sst2" grid_ref="surface"> sst * sst </field>'
    more = GRIDS + '<variable_definition><variable id="rho0" type="float"> 1026.0 </variable></variable_definition>'
    made = made_of(tmp_path, fields, daily(f'<field field_ref="sst" name="x" operation="instant">{text}</field>'), more)
    assert made.variables["x"]["expr"] == expected
    assert made.all("parameter")["rho0"] == {"type": "double", "value": "1026.0"}


def test_this_is_the_field_that_is_referred_to(tmp_path):
    fields = SST + '<field id="kelvin" field_ref="sst" unit="K"> this + 273.15 </field><field id="own" grid_ref="surface">this / 2</field>'
    made = made_of(tmp_path, fields, daily('<field field_ref="kelvin"/><field field_ref="own"/>'))
    assert made.variables["kelvin"]["expr"] == "'raw/sst' + 273.15" and made.variables["kelvin"]["unit"] == "K"
    assert made.variables["own"]["expr"] == "'raw/own' / 2"
    assert set(made.variables) == {"raw/sst", "raw/own", "kelvin", "own"}


def test_an_average_in_an_expression_is_a_variable_of_its_own(tmp_path):
    fields = SST + '<field id="sst2" field_ref="sst"> sst * sst </field><field id="sstmax" field_ref="sst" operation="maximum"/>'
    files = """<file id="f" output_freq="5d">
      <field field_ref="sst" name="std" operation="instant" freq_op="5d"> sqrt( @sst2 - @sst * @sst ) </field>
      <field field_ref="sst" name="cycle" operation="average" freq_op="1d"> @sstmax - sst </field></file>"""
    made = made_of(tmp_path, fields, files)
    assert made.variables["made/sst2_mean_5d"] == {
        "expr": "'raw/sst' * 'raw/sst'", "operation": "mean", "every": "5 d", "store": "none"}
    std, cycle = made.variables["std"], made.variables["cycle"]
    assert std["expr"] == "sqrt('made/sst2_mean_5d' - ('made/sst_mean_5d' * 'made/sst_mean_5d'))"
    assert std["every"] == "5 d" and "operation" not in std
    assert made.variables["made/sstmax_max_1d"]["operation"] == "max"
    assert cycle["expr"] == "'made/sstmax_max_1d' - 'raw/sst'" and cycle["operation"] == "mean" and cycle["every"] == "5 d"


def test_what_is_written_once_is_stored_as_it_is(tmp_path):
    fields = SST + '<field id="area" grid_ref="surface" operation="once"/>'
    made = made_of(tmp_path, fields, daily('<field field_ref="area"/><field field_ref="sst" operation="once"/>'))
    assert made.variables["raw/area"] == {"layout": "surface", "time-varying": "false", "store": "daily"}
    assert "area" not in made.variables
    assert made.variables["sst"]["every"] == "first" and "operation" not in made.variables["sst"]


def test_layouts_are_as_the_arrays_of_the_code(tmp_path):
    fields = SST + '<field id="t3" grid_ref="volume"/><field id="mean" grid_ref="none"/>'
    more = GRIDS + '<grid_definition><grid id="none"><scalar/></grid></grid_definition>'
    made = made_of(tmp_path, fields, daily('<field field_ref="sst"/><field field_ref="t3"/><field field_ref="mean"/>'), more)
    assert made.all("layout") == {
        "surface": {"type": "double", "dimensions": "?,?", "global": "180,90", "names": "x_T,y_T", "order": "fortran"},
        "volume": {"type": "double", "dimensions": "?,?,?", "global": "180,90,31", "names": "x_T,y_T,depth", "order": "fortran"},
        "none": {"type": "double", "dimensions": ""}}


def test_sizes_that_the_program_sets_are_parameters(tmp_path):
    more = """<axis_definition><axis id="depth"/><axis id="upper" axis_ref="depth"/></axis_definition>
      <domain_definition><domain id="mesh" type="unstructured"/></domain_definition>
      <grid_definition><grid id="surface"><domain domain_ref="mesh"/><axis axis_ref="upper"/></grid></grid_definition>"""
    made = made_of(tmp_path, SST, daily('<field field_ref="sst"/>'), more)
    assert made.all("layout")["surface"]["global"] == "mesh_ni,depth_n"
    assert made.all("layout")["surface"]["names"] == "cell_mesh,depth"
    assert made.all("parameter")["mesh_ni"]["type"] == "int" and "value" not in made.all("parameter")["mesh_ni"]


def test_domain_and_axis_of_a_field_are_a_grid(tmp_path):
    fields = '<field_group domain_ref="T"><field id="a"/><field id="b" axis_ref="depth"/></field_group>'
    made = made_of(tmp_path, fields, daily('<field field_ref="a"/><field field_ref="b"/>'))
    assert made.all("layout")["T"]["global"] == "180,90" and made.all("layout")["T_depth"]["global"] == "180,90,31"


@pytest.mark.parametrize("kind, calendar", [
    ("Gregorian", "standard"), ("Julian", "julian"), ("NoLeap", "noleap"), ("AllLeap", "all_leap"), ("D360", "360_day")])
def test_calendars_are_those_of_cf(tmp_path, kind, calendar):
    text = f'<calendar type="{kind}" start_date="1999-01-15 12:00:00" time_origin="1970-01-01 00:00:00" timestep="1h"/>'
    made = made_of(tmp_path, SST, daily('<field field_ref="sst"/>'), calendar=text)
    assert made.root.find("data/time").attrib == {
        "parameter": "time", "unit": "seconds since 1970-01-01 00:00:00", "calendar": calendar}


def test_a_calendar_that_the_program_gives_is_said_with_options(tmp_path):
    text = context(SST, daily('<field field_ref="sst"/>'), calendar="")
    made = Made(converted(tmp_path, text))
    assert "a calendar that the program gives by calls: say it with --since and --calendar" in made.said
    made = Made(converted(tmp_path, text, "--since", "1900-03-01", "--calendar", "noleap"))
    assert made.root.find("data/time").get("unit") == "seconds since 1900-03-01 00:00:00"
    assert made.root.find("data/time").get("calendar") == "noleap" and "calendar that" not in made.said
    assert "is no date" in converted(tmp_path, text, "--since", "soon").stderr


def test_what_has_no_equal_is_one_line_with_count_and_first_place(tmp_path):
    fields = SST.replace("/>", ' default_value="1e20"/>') + '<field id="b" default_value="0" grid_ref="surface"/>'
    files = daily('<field field_ref="sst"/><variable id="title" type="string">ocean</variable>', split_freq="1y", timeseries="only",
                  type="one_file")
    made = made_of(tmp_path, fields, files)
    assert re.search(r"\n  default_value of <field>: .* \(2 times, first at iodef.xml:2:\d+\)\n", made.said)
    assert re.search(r"\n  timeseries of <file>: variables of a file stay together \(at iodef.xml:\d+:\d+\)\n", made.said)
    assert "<variable> in <file>: files have no attributes of your own" in made.said
    lost, _, kept = made.said.partition("not needed in Leat; nothing is lost:")
    assert "timeseries" in lost and "type of <file>" in kept
    assert "timeseries of <file>" in made.text, "in the output, too"
    assert [each.get("split") for each in made.root.iter("store")] == ["1 y"]


def test_several_files_are_taken_together(tmp_path):
    (tmp_path / "field_def.xml").write_text(f'<field_definition operation="average">{SST}</field_definition>')
    (tmp_path / "file_def.xml").write_text("<file_definition>" + daily('<field field_ref="sst"/>') + "</file_definition>")
    (tmp_path / "grid_def.xml").write_text(
        '<grid_definition><grid id="surface"><domain id="T" ni_glo="4" nj_glo="5"/></grid></grid_definition>')
    made = Made(leat("convert", "file_def.xml", "field_def.xml", "grid_def.xml", cwd=tmp_path))
    assert made.variables["sst"]["operation"] == "mean" and made.all("layout")["surface"]["global"] == "4,5"


def test_one_context_of_several_is_chosen(tmp_path):
    one = context(SST, daily('<field field_ref="sst"/>')).replace("<simulation>", "").replace("</simulation>", "")
    text = "<simulation><context id='xios'/>" + one + one.replace("ocean", "ice") + "</simulation>"
    result = converted(tmp_path, text)
    assert result.returncode == 1 and 'several contexts, "ice", "ocean"' in result.stderr and result.stdout == ""
    assert Made(converted(tmp_path, text, "--context", "ice")).root.get("name") == "ice"
    assert 'did you mean "ocean"?' in converted(tmp_path, text, "--context", "ocaen").stderr


def test_a_file_for_damaris_is_converted_as_before(tmp_path):
    (tmp_path / "d.xml").write_text('<simulation name="d" language="c" xmlns="http://damaris.gforge.inria.fr/damaris/model">'
                                    "<architecture/><data/><storage/></simulation>")
    assert "<simulation" in leat("convert", "d.xml", cwd=tmp_path).stdout
    result = leat("convert", "d.xml", "--context", "a", cwd=tmp_path)
    assert result.returncode == 2 and "for definitions of XIOS" in result.stderr


def test_a_full_disk_is_said(tmp_path):
    (tmp_path / "iodef.xml").write_text(context(SST, daily('<field field_ref="sst"/>')))
    with open("/dev/full", "w") as full:
        result = subprocess.run([LEAT, "convert", tmp_path / "iodef.xml"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert result.returncode == 1 and "cannot write" in result.stderr


@pytest.mark.skipif(not CAN_DERIVE, reason="this leat has no variables that the server makes")
def test_leat_check_has_nothing_against_it(tmp_path):
    fields = SST + '<field id="sst2" field_ref="sst"> sst * sst </field><field id="area" grid_ref="surface" operation="once"/>'
    files = daily('<field field_ref="sst"/><field field_ref="area"/><field field_ref="sst" name="x" freq_op="1d"> @sst2 - @sst </field>')
    files += '<file id="monthly" output_freq="1mo"><field field_ref="sst"/><field field_ref="sst" name="y" operation="once"/></file>'
    made = made_of(tmp_path, fields, files, calendar=CALENDAR)
    (tmp_path / "leat.xml").write_text(made.text)
    result = leat("check", "leat.xml", cwd=tmp_path)
    assert result.returncode == 0 and result.stdout.endswith("good\n"), result.stderr

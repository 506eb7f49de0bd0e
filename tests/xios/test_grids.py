# SPDX-License-Identifier: Apache-2.0
"""Transformations of grids, as definitions of NEMO and of LFRic have them: `leat check` takes what `leat convert` makes of them, and a run
stores what NumPy makes of the same arrays."""
import re
from pathlib import Path

import h5py
import numpy as np
import pytest
from arrays_run import write_arrays
from xios_files import CALENDAR, CAN_DERIVE, context, converted, leat, made_of

pytestmark = pytest.mark.skipif(not CAN_DERIVE, reason="this leat has no variables that the server makes")

NI, NJ, NK = 12, 8, 5
# In the words of the files that come with NEMO: domain_def, axis_def, grid_def, field_def and file_def.
NEMO_GRIDS = f"""
  <axis_definition>
    <axis id="deptht" long_name="Vertical T levels" unit="m" positive="down" n_glo="{NK}"/>
    <axis id="deptht300" axis_ref="deptht"><zoom_axis begin="0" n="3"/></axis>
  </axis_definition>
  <domain_definition>
    <domain id="grid_T" long_name="grid T" ni_glo="{NI}" nj_glo="{NJ}"/>
    <domain id="EqT" domain_ref="grid_T"><zoom_domain id="EqT" ibegin="0" jbegin="3" ni="{NI}" nj="1"/></domain>
    <domain id="box" domain_ref="grid_T"><extract_domain ibegin="2" ni="4" jbegin="1" nj="5"/></domain>
    <domain id="0n180wT" domain_ref="grid_T"><zoom_domain id="0n180wT" ibegin="0000" jbegin="0000" ni="0000" nj="0000"/></domain>
  </domain_definition>
  <grid_definition>
    <grid id="grid_T_2D"><domain domain_ref="grid_T"/></grid>
    <grid id="grid_T_3D"><domain domain_ref="grid_T"/><axis axis_ref="deptht"/></grid>
    <grid id="grid_T_SFC"><domain domain_ref="grid_T"/><scalar><extract_axis position="0"/></scalar></grid>
    <grid id="grid_T_vsum"><domain domain_ref="grid_T"/><scalar><reduce_axis operation="sum"/></scalar></grid>
    <grid id="grid_T_zoom_300"><domain domain_ref="grid_T"/><axis axis_ref="deptht300"/></grid>
    <grid id="grid_EqT"><domain domain_ref="EqT"/></grid>
    <grid id="grid_box_300"><domain domain_ref="box"/><axis axis_ref="deptht300"/></grid>
    <grid id="grid_mooring"><domain domain_ref="0n180wT"/></grid>
    <grid id="grid_profile"><scalar><reduce_domain operation="average"/></scalar><axis axis_ref="deptht"/></grid>
    <grid id="grid_zonal"><axis><reduce_domain operation="average" direction="iDir"/></axis><axis axis_ref="deptht"/></grid>
    <grid id="grid_line"><axis><extract_domain direction="iDir" position="2"/></axis></grid>
    <grid id="scalarpoint"><scalar><reduce_domain operation="sum"/></scalar></grid>
    <grid id="all"><scalar><reduce_domain operation="max"/></scalar><scalar><reduce_axis operation="max"/></scalar></grid>
  </grid_definition>
"""
NEMO_FIELDS = """<field_group id="grid_T" grid_ref="grid_T_2D" default_value="1.e20">
  <field id="toce" long_name="temperature" standard_name="sea_water_potential_temperature" unit="degC" grid_ref="grid_T_3D"/>
  <field id="toce_e3t" long_name="temperature (thickness weighted)" unit="degC" grid_ref="grid_T_3D"> toce * e3t </field>
  <field id="e3t" long_name="T-cell thickness" unit="m" grid_ref="grid_T_3D"/>
  <field id="ssh" long_name="sea surface height" unit="m"/>
  <field id="toce_vsum" field_ref="toce_e3t" grid_ref="grid_T_vsum" unit="degC*m"/>
</field_group>"""
NEMO_FILES = """<file_group id="1d" output_freq="1d" output_level="10" enabled=".TRUE.">
  <file id="file1" name_suffix="_grid_T" description="ocean T grid variables">
    <field field_ref="toce" name="sst" grid_ref="grid_T_SFC" long_name="surface temperature"/>
    <field field_ref="toce" name="t300" grid_ref="grid_T_zoom_300" operation="instant"/>
    <field field_ref="toce" name="tbox" grid_ref="grid_box_300" operation="maximum"/>
    <field field_ref="toce_vsum" name="heat"/>
    <field field_ref="toce" name="profile" grid_ref="grid_profile" operation="instant"/>
    <field field_ref="toce" name="zonal" grid_ref="grid_zonal"/>
    <field field_ref="toce" name="most" grid_ref="all" operation="maximum"/>
    <field field_ref="ssh" name="sshEq" grid_ref="grid_EqT"/>
    <field field_ref="ssh" name="sshline" grid_ref="grid_line" operation="instant"/>
    <field field_ref="ssh" name="sshtot" grid_ref="scalarpoint" operation="instant"/>
    <field field_ref="ssh" name="sshmooring" grid_ref="grid_mooring"/>
  </file></file_group>"""


def checked(tmp_path, text):
    (tmp_path / "leat.xml").write_text(text)
    result = leat("check", "leat.xml", cwd=tmp_path)
    assert result.returncode == 0 and result.stdout.endswith("good\n"), result.stdout + result.stderr
    return result


def test_parts_and_reductions_of_nemo_are_select_and_reduce(tmp_path):
    made = made_of(tmp_path, NEMO_FIELDS, NEMO_FILES, NEMO_GRIDS)
    said = {name: {key: its[key] for key in ("expr", "select", "reduce", "operation") if key in its}
            for name, its in made.variables.items() if not name.startswith("raw/")}
    assert said["sst"] == {"expr": "'raw/toce'", "select": "deptht=0", "operation": "mean"}
    assert said["t300"] == {"expr": "'raw/toce'", "select": "deptht=0:3"}
    assert said["tbox"] == {"expr": "'raw/toce'", "select": "x_grid_T=2:6, y_grid_T=1:6, deptht=0:3", "operation": "max"}
    assert said["sshEq"] == {"expr": "'raw/ssh'", "select": "y_grid_T=3:4", "operation": "mean"}
    assert said["sshline"] == {"expr": "'raw/ssh'", "select": "y_grid_T=2"}
    assert said["profile"] == {"expr": "'raw/toce'", "reduce": "mean(x_grid_T, y_grid_T)"}
    assert said["sshtot"] == {"expr": "'raw/ssh'", "reduce": "sum"}
    # What is over time, too, is of a variable of its own.
    assert said["made/toce_vsum_grid_T_vsum"] == {"expr": "'raw/toce' * 'raw/e3t'", "reduce": "sum(deptht)"}
    assert said["heat"] == {"expr": "'made/toce_vsum_grid_T_vsum'", "operation": "mean"}
    assert said["made/zonal_grid_zonal"] == {"expr": "'raw/toce'", "reduce": "mean(x_grid_T)"}
    assert said["made/most_all"] == {"expr": "'raw/toce'", "reduce": "max"} and said["most"]["operation"] == "max"
    assert said["sshmooring"] == {"expr": "'raw/ssh'", "operation": "mean"}
    assert re.search(r"<zoom_domain> of no extent, which the program gives: the whole field is stored \(at iodef.xml:\d+:\d+\)", made.said)
    checked(tmp_path, made.text)


def test_a_run_stores_what_numpy_makes_of_the_same_arrays(tmp_path):
    files = NEMO_FILES.replace('output_freq="1d"', 'output_freq="2ts"')
    text = made_of(tmp_path, NEMO_FIELDS, files, NEMO_GRIDS, calendar=CALENDAR).text
    half = NI // 2  # two ranks beside each other along i
    text = text.replace('dimensions="?,?,?"', f'dimensions="{half},{NJ},{NK}"').replace('dimensions="?,?"', f'dimensions="{half},{NJ}"')
    text = text.replace("<data>", '<architecture><buffer size="16MiB"/></architecture><data>')
    random, steps = np.random.default_rng(37), 4
    toce, e3t = random.normal(10, 3, (steps, NK, NJ, NI)), random.uniform(1, 9, (steps, NK, NJ, NI))
    ssh = random.normal(0, 1, (steps, NJ, NI))
    ranks = []
    for rank in range(2):
        own = slice(rank * half, (rank + 1) * half)
        arrays = {("=time", i): np.array(60.0 * (i + 1)) for i in range(steps)}
        for i in range(steps):
            arrays |= {("raw/toce", i): toce[i, :, :, own], ("raw/e3t", i): e3t[i, :, :, own], ("raw/ssh", i): ssh[i, :, own]}
        arrays |= {("raw/toce", "position"): np.array([0, 0, rank * half]), ("raw/e3t", "position"): np.array([0, 0, rank * half]),
                   ("raw/ssh", "position"): np.array([0, rank * half])}
        ranks.append(arrays)
    log = write_arrays(tmp_path, text, ranks)
    assert "error" not in log, log
    found = stored(tmp_path)
    at, pairs = slice(0, None, 2), (steps // 2, 2)

    def periods(values):
        return values.reshape(*pairs, *values.shape[1:])

    np.testing.assert_allclose(found["sst"], periods(toce[:, 0]).mean(axis=1), rtol=1e-14)
    assert np.array_equal(found["t300"], toce[at, :3]) and np.array_equal(found["sshline"], ssh[at, 2])
    assert np.array_equal(found["tbox"], periods(toce[:, :3, 1:6, 2:6]).max(axis=1))
    np.testing.assert_allclose(found["sshEq"], periods(ssh[:, 3:4]).mean(axis=1), rtol=1e-13)
    np.testing.assert_allclose(found["heat"], periods((toce * e3t).sum(axis=1)).mean(axis=1), rtol=1e-14)
    np.testing.assert_allclose(found["profile"], toce[at].mean(axis=(2, 3)), rtol=1e-14)
    np.testing.assert_allclose(found["zonal"], periods(toce.mean(axis=3)).mean(axis=1), rtol=1e-14)
    np.testing.assert_allclose(found["sshtot"], ssh[at].sum(axis=(1, 2)), rtol=1e-12)
    assert np.array_equal(found["most"], periods(toce.max(axis=(1, 2, 3))).max(axis=1))


def stored(folder):
    found = {}
    for path in sorted(Path(folder).glob("*.h5")):
        with h5py.File(path) as file:
            file.visititems(lambda name, each: found.update({name: each[:]}) if isinstance(each, h5py.Dataset) and each.shape else None)
    return found


# In the words of the files that come with LFRic: unstructured domains and levels, sizes are set by the program.
LFRIC_GRIDS = """
  <axis_definition>
    <axis id="vert_axis_full_levels" name="full_levels"/>
    <axis id="lowest_levels" axis_ref="vert_axis_full_levels"><extract_axis begin="0" n="10"/></axis>
  </axis_definition>
  <domain_definition>
    <domain id="face" type="unstructured"/>
    <domain id="regular" type="rectilinear" ni_glo="96" nj_glo="72"><generate_rectilinear_domain/><interpolate_domain order="1"/></domain>
  </domain_definition>
  <grid_definition>
    <grid id="full_level_face_grid"><domain domain_ref="face"/><axis axis_ref="vert_axis_full_levels"/></grid>
    <grid id="low_grid"><domain domain_ref="face"/><axis axis_ref="lowest_levels"/></grid>
    <grid id="bottom_grid"><domain domain_ref="face"/><scalar><extract_axis position="0"/></scalar></grid>
    <grid id="global_mean_grid"><scalar><reduce_domain operation="average"/></scalar><axis axis_ref="vert_axis_full_levels"/></grid>
    <grid id="regular_grid"><domain domain_ref="regular"/><axis axis_ref="vert_axis_full_levels"/></grid>
  </grid_definition>
"""
LFRIC_FIELDS = """<field_group id="diagnostics" freq_op="1ts" grid_ref="full_level_face_grid">
  <field id="theta" name="theta" long_name="potential_temperature" unit="K" domain_ref="face" axis_ref="vert_axis_full_levels"/>
  <field id="theta_low" field_ref="theta" grid_ref="low_grid"/>
  <field id="theta_bottom" field_ref="theta_low" grid_ref="bottom_grid"/>
</field_group>"""
LFRIC_FILES = """<file id="lfric_diag" name="lfric_diag" output_freq="1h" convention="UGRID" type="one_file" enabled=".TRUE.">
  <field_group operation="instant" freq_offset="0ts">
    <field field_ref="theta"/><field field_ref="theta_low"/><field field_ref="theta_bottom"/>
    <field field_ref="theta" name="theta_mean" grid_ref="global_mean_grid"/>
    <field field_ref="theta" name="theta_regular" grid_ref="regular_grid"/>
  </field_group></file>"""


def test_definitions_of_lfric_are_converted(tmp_path):
    made = made_of(tmp_path, LFRIC_FIELDS, LFRIC_FILES, LFRIC_GRIDS)
    variables = made.variables
    assert variables["made/theta_low_low_grid"]["select"] == "full_levels=0:10"
    assert variables["theta_low"]["expr"] == "'made/theta_low_low_grid'" and "select" not in variables["theta_low"]
    bottom = variables["theta_bottom"]
    assert (bottom["expr"], bottom["select"]) == ("'made/theta_low_low_grid'", "theta_low_low_grid_full_levels=0")
    assert variables["theta_mean"]["reduce"] == "mean(cell_face)"
    assert "theta_regular" not in variables and "<interpolate_domain>: the field is left out" in made.said
    text = made.text.replace('name="face_ni" type="int"', 'name="face_ni" type="int" value="3000"')
    checked(tmp_path, text.replace('name="full_levels_n" type="int"', 'name="full_levels_n" type="int" value="71"'))


@pytest.mark.parametrize("grid, words", [
    ('<axis><reduce_domain operation="average"/></axis><axis axis_ref="deptht"/>', r'<reduce_domain> needs direction="iDir" or "jDir"'),
    ('<axis><reduce_domain operation="average" direction="i"/></axis><axis axis_ref="deptht"/>', 'not "i"'),
    ('<domain domain_ref="grid_T"/><scalar><reduce_axis operation="averge"/></scalar>', r'operation="averge"; did you mean "average"'),
    ('<domain domain_ref="grid_T"/><scalar><reduce_axis/></scalar>', r"<reduce_axis> has no operation; there are sum, min"),
    ('<domain domain_ref="grid_T"/><scalar><extract_axis position="5"/></scalar>', r"takes 1 from 5 of deptht, which has 5"),
    ('<domain domain_ref="grid_T"/><axis axis_ref="deptht"><zoom_axis begin="2" n="4"/></axis>', r"takes 4 from 2 of deptht, which has 5"),
    ('<domain domain_ref="grid_T"/><axis axis_ref="deptht"><zoom_axis begin="a"/></axis>', r'begin="a" of <zoom_axis> is no whole number'),
])
def test_what_is_wrong_with_a_transformation_is_said_with_its_place(tmp_path, grid, words):
    more = NEMO_GRIDS + f'<grid_definition><grid id="odd">{grid}</grid></grid_definition>'
    files = '<file id="f" output_freq="1d"><field field_ref="toce" name="odd" grid_ref="odd"/></file>'
    result = converted(tmp_path, context(NEMO_FIELDS, files, more))
    assert result.returncode == 1 and re.search(r"iodef.xml:\d+:\d+: error: .*" + words, result.stderr), result.stderr


@pytest.mark.parametrize("grid, words", [
    ('<domain domain_ref="grid_T"/><axis axis_ref="deptht"><interpolate_axis/></axis>', "<interpolate_axis>: the field is left out"),
    ('<domain domain_ref="grid_T"/><axis axis_ref="deptht"><inverse_axis/></axis>', "<inverse_axis>: the field is left out"),
    ('<domain domain_ref="grid_T"/><axis axis_ref="deptht"><reduce_axis operation="sum"/></axis>', "<reduce_axis>: the field is left out"),
    ('<scalar><reduce_domain operation="sum" local="true"/></scalar><axis axis_ref="deptht"/>', '<reduce_domain> local="true"'),
    ('<scalar><reduce_domain operation="sum"/></scalar><scalar><reduce_axis operation="max"/></scalar>', "<reduce_axis> after another"),
    ('<scalar><reduce_domain operation="sum"/></scalar>', "<reduce_domain> onto a grid of other parts: the field is left out"),
    ('<domain domain_ref="grid_T"/><axis axis_ref="deptht"><extract_axis index="(0,1)[1 3]"/></axis>', "<extract_axis> of single indices"),
])
def test_what_has_no_equal_is_left_out_and_said(tmp_path, grid, words):
    more = NEMO_GRIDS + f'<grid_definition><grid id="odd">{grid}</grid></grid_definition>'
    files = '<file id="f" output_freq="1d"><field field_ref="toce" name="odd" grid_ref="odd"/><field field_ref="toce"/></file>'
    made = made_of(tmp_path, NEMO_FIELDS, files, more)
    assert words in made.said and set(made.variables) == {"raw/toce", "toce"}
    checked(tmp_path, made.text)

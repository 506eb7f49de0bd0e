# SPDX-License-Identifier: Apache-2.0
"""A run with what `leat convert` makes of definitions of XIOS: its files have what XIOS would compute, by NumPy."""

import h5py
import numpy as np
import pytest
from arrays_run import write_arrays
from xios_files import CALENDAR, CAN_DERIVE, GRIDS, made_of

NJ, NI, STEPS = 4, 6, 72  # three days by the hour
FIELDS = """<field_group grid_ref="surface" prec="8" unit="m">
  <field id="sst"/><field id="ssh"/><field id="sst2"> sst * sst </field><field id="area" operation="once"/>
</field_group>"""
FILES = """<file id="days" output_freq="1d">
  <field field_ref="sst" name="mean"/><field field_ref="sst" name="most" operation="maximum"/>
  <field field_ref="sst" name="std" operation="instant" freq_op="1d"> sqrt(@sst2 - @sst * @sst) </field>
  <field field_ref="area"/>
</file>
<file id="hours" output_freq="6h">
  <field field_ref="ssh" name="height" operation="instant"> this &gt; 0 ? $g * ssh : 0 - ssh </field>
</file>"""
SMALL = GRIDS.replace('"180"', f'"{NI}"').replace('"90"', f'"{NJ}"')
SMALL += '<variable_definition><variable id="g" type="double">9.81</variable></variable_definition>'


@pytest.mark.skipif(not CAN_DERIVE, reason="this leat has no variables that the server makes")
def test_files_have_what_the_definitions_say(tmp_path):
    text = made_of(tmp_path, FIELDS, FILES, SMALL, calendar=CALENDAR).text
    text = text.replace('dimensions="?,?"', f'dimensions="{NI},{NJ}"')
    text = text.replace("<data>", '<architecture><buffer size="16MiB"/></architecture><data>')
    random = np.random.default_rng(37)
    sst, ssh = random.normal(280, 5, (STEPS, NJ, NI)), random.normal(0, 1, (STEPS, NJ, NI))
    arrays = {("raw/area", 0): np.arange(NJ * NI, dtype="f8").reshape(NJ, NI)}
    for i in range(STEPS):
        arrays |= {("raw/sst", i): sst[i], ("raw/ssh", i): ssh[i], ("=time", i): np.array(3600.0 * (i + 1))}
    log = write_arrays(tmp_path, text, [arrays])
    assert "error" not in log, log
    days = sst.reshape(3, 24, NJ, NI)
    found = {name: values for path in sorted(tmp_path.rglob("*.h5")) for name, values in read(path).items()}
    np.testing.assert_allclose(found["mean"], days.mean(axis=1), rtol=1e-14)
    assert np.array_equal(found["most"], days.max(axis=1))
    np.testing.assert_allclose(found["std"], days.std(axis=1), rtol=1e-6)
    ends = ssh[5::6]
    assert np.array_equal(found["height"], np.where(ends > 0, 9.81 * ends, -ends))
    assert np.array_equal(found["raw/area"], arrays["raw/area", 0])


def read(path):
    found = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, each: found.update({name: each[:]}) if isinstance(each, h5py.Dataset) and each.shape else None)
    return found

# SPDX-License-Identifier: Apache-2.0
"""Units of what the server makes: told from those of what it is made of, compared, and converted."""
import subprocess

import h5py
import numpy as np
import pytest
from arrays_run import write_arrays
from leat_run import BUILD, same_bits, xml

DATA = """<layout name="line" type="double" dimensions="5" names="x"/><parameter name="k" type="double" value="2"/>
<variable name="T" layout="line" unit="K" store="out"/><variable name="u" layout="line" unit="m/s" store="out"/>
<variable name="w" layout="line" unit="km/h" store="out"/><variable name="odd" layout="line" unit="furlongs per dwarf" store="out"/>"""


def made(folder, derived, values):
    write_arrays(folder, xml(DATA + derived), [{(name, i): each for name, all_ in values.items() for i, each in enumerate(all_)}])
    found = {}
    for path in folder.glob("*.h5"):
        with h5py.File(path) as file:
            found |= {name: (file[name][:], file[name].attrs.get("units", b"").decode()) for name in file
                      if isinstance(file[name], h5py.Dataset) and file[name].ndim == 2}
    return found


def check(folder, derived):
    (folder / "run.xml").write_text(xml(DATA + derived))
    done = subprocess.run([BUILD / "bin/leat", "check", "run.xml"], cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stderr


def test_values_are_converted_and_units_follow_from_those_of_the_inputs(tmp_path):
    values = {name: np.random.default_rng(1).normal(280, 5, (4, 5)) for name in ("T", "u", "w", "odd")}
    found = made(tmp_path, """<variable name="celsius" expr="T" unit-out="degC"/><variable name="energy" expr="u*u/2"/>
        <variable name="speed" expr="u" unit-out="km/h"/><variable name="mean" expr="T" operation="mean" every="2" unit-out="degC"/>
        <variable name="spread" expr="u" operation="variance" every="2" unit-out="km/h"/><variable name="unknown" expr="odd*2"/>
        <variable name="root" expr="sqrt(u*u)"/><variable name="scaled" expr="k*u"/>""", values)
    assert same_bits(found["celsius"][0], values["T"] + -273.15) and found["celsius"][1] == "degC"
    assert found["energy"][1] == "m2.s-2" and same_bits(found["energy"][0], values["u"] * values["u"] / 2)
    np.testing.assert_allclose(found["speed"][0], values["u"] * 3.6, rtol=1e-15)
    np.testing.assert_allclose(found["mean"][0], (values["T"][::2] + values["T"][1::2]) / 2 - 273.15, rtol=1e-13)
    np.testing.assert_allclose(found["spread"][0][0], values["u"][:2].var(axis=0) * 3.6 ** 2, rtol=1e-12)
    assert found["root"][1] == "m.s-1" and found["unknown"][1] == "" and found["scaled"][1] == ""


@pytest.mark.parametrize("derived, said", [
    ('<variable name="a" expr="u + T"/>', 'warning: variable "a": expr="u + T": "m.s-1" and "K" are of different quantities'),
    ('<variable name="a" expr="u + w"/>', "are different units of one quantity, and nothing converts them here"),
    ('<variable name="a" expr="u" unit="km/h"/>', 'comes to "m/s": nothing is converted; write unit-out="km/h" in place of unit'),
    ('<variable name="a" expr="u*u" unit="K"/>', 'which is of another quantity'),
    ('<variable name="a" expr="log(T)"/>', 'the logarithm, or power of e, of something in "K"'),
    ('<variable name="a" expr="u" unit-out="K"/>', 'error: variable "a": unit-out: "m/s" is not converted to "K" by UDUNITS'),
    ('<variable name="a" expr="odd" unit-out="K"/>', 'error: variable "a": unit-out: "furlongs per dwarf" is not converted to "K"'),
    ('<variable name="a" expr="T" operation="accumulate" every="2" unit-out="degC"/>', 'a sum in "K" is none in "degC"'),
])
def test_what_makes_no_sense_together_is_said(tmp_path, derived, said):
    code, text = check(tmp_path, derived)
    assert said in text and (code != 0) == ("error:" in text), text


def test_units_that_nobody_knows_are_no_error(tmp_path):
    code, text = check(tmp_path, '<variable name="a" expr="odd + T"/><variable name="b" expr="odd" unit="dwarves"/>')
    assert code == 0 and not text, text

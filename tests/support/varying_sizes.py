# SPDX-License-Identifier: Apache-2.0
"""What a program in any language is told and what is stored: "u" has n values, which it sets anew before each write; "w" has m, and
m may not change. It writes u of 4, 2 and 6 values, n + 0.1 * i, and w of 3 in iteration 0; there it sets m to 5, writes w of 3 and
of 5, sets m to 3 and writes w of 3 in iteration 1, and finalizes. These are the statuses of the last six calls."""
import h5py
import numpy as np
from leat_run import same_bits
from stored_blocks import stored_ranks

XML = """<simulation name="varying"><architecture><buffer size="16MiB"/></architecture><data>
  <parameter name="n" type="int" value="4"/><parameter name="m" type="int" value="3"/>
  <layout name="line" type="double" dimensions="n" varying="true"/><variable name="u" layout="line"/>
  <layout name="fixed" type="double" dimensions="m"/><variable name="w" layout="fixed"/>
</data><storage><store name="out" type="hdf5"/></storage></simulation>"""
STATE, SHAPE, LOST = -2, -6, -14
STATUSES = [STATE, SHAPE, SHAPE, 0, 0, LOST]


def expect(folder):
    with h5py.File(folder / "varying.h5") as file:
        for row, n in enumerate((4, 2, 6)):
            assert same_bits(stored_ranks(file, "u", row)[0], n + 0.1 * np.arange(n))
        assert same_bits(file["w"][0], np.arange(3.0)) and same_bits(file["w"][1], np.arange(3.0) + 1)

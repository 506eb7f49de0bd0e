# SPDX-License-Identifier: Apache-2.0
"""What docs/how-to/output-language.md writes in XML is what leat check takes."""
import pathlib
import re
import subprocess

import pytest
from leat_run import BUILD

PAGE = (pathlib.Path(__file__).parents[2] / "docs/how-to/output-language.md").read_text()
SNIPPETS = re.findall(r"```xml\n(.*?)```", PAGE, re.S)
STORE = r"(?s)<store\b(?:[^>]*/>|.*?</store>)"
AROUND = """<simulation name="heat"><data>
<parameter name="t" type="double"/><time parameter="t" unit="days since 2000-01-01"/><parameter name="limit" type="double" value="1"/>
<parameter name="z_probe" type="double"/><parameter name="iy" type="int"/><parameter name="ix" type="int"/>
<parameter name="nz,ny,nx" type="int"/><variable name="sized" type="double" dimensions="nz,ny,nx"/>
<mesh name="grid" type="uniform" origin="0,0,0" spacing="10,10,50" unit="m"/>
<layout name="cells" type="double" dimensions="10,130,300" global="10,130,300" names="z,y,x"/>
<layout name="plane" type="double" dimensions="130,300" names="y,x"/>
<variable name="T" layout="cells" unit="K" mesh="grid"/><variable name="u" layout="cells" unit="m/s" mesh="grid"/>
<variable name="v" layout="cells" unit="m/s" mesh="grid"/>
<variable name="rho" layout="cells" unit="kg/m3"/><variable name="volume" layout="plane" unit="m3" time-varying="false"/>
<variable name="distance" layout="cells" unit="m"/>
{variables}</data><storage>{stores}</storage></simulation>"""


@pytest.mark.parametrize("snippet", SNIPPETS, ids=range(len(SNIPPETS)))
def test_it_is_right(tmp_path, snippet):
    stores = "".join(re.findall(STORE, snippet))
    if 'name="out"' not in stores:
        stores += '<store name="out" type="hdf5"/>'
    text = snippet if "<simulation" in snippet else AROUND.format(variables=re.sub(STORE, "", snippet), stores=stores)
    (tmp_path / "page.xml").write_text(text)
    done = subprocess.run([BUILD / "bin/leat", "check", "page.xml"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "warning" not in done.stderr, done.stderr


def test_the_page_has_snippets():
    assert len(SNIPPETS) >= 5

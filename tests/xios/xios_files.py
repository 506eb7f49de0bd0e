# SPDX-License-Identifier: Apache-2.0
"""Definitions of XIOS for tests, and what `leat convert` makes of them."""

import os
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

LEAT = Path(os.environ["LEAT_BUILD"], "bin", "leat")
XSD = Path(__file__).parents[2] / "xml-schemas" / "leat.xsd"
# Variables that the server makes of others.
CAN_DERIVE = '<xs:attribute name="expr"' in XSD.read_text()

GRIDS = """
  <axis_definition><axis id="depth" n_glo="31"/></axis_definition>
  <domain_definition><domain id="T" ni_glo="180" nj_glo="90"/></domain_definition>
  <grid_definition>
    <grid id="surface"><domain domain_ref="T"/></grid>
    <grid id="volume"><domain domain_ref="T"/><axis axis_ref="depth"/></grid>
  </grid_definition>
"""
CALENDAR = '<calendar type="Gregorian" time_origin="2000-01-01 00:00:00"/>'


def leat(*words, **more):
    return subprocess.run([LEAT, *map(str, words)], capture_output=True, text=True, timeout=60, **more)


def context(fields, files, more=GRIDS, calendar=CALENDAR):
    return f"""<simulation><context id="ocean">{calendar}
  <field_definition operation="average" prec="8">{fields}</field_definition>
  <file_definition>{files}</file_definition>
  {more}
</context></simulation>
"""


def converted(tmp_path, text, *options, name="iodef.xml"):
    (tmp_path / name).write_text(text)
    return leat("convert", name, *options, cwd=tmp_path)


class Made:
    """The XML for Leat, as a reader that is not ours has it."""

    def __init__(self, result):
        assert result.returncode == 0, result.stderr
        self.said, self.text = result.stderr, result.stdout
        self.root = ElementTree.fromstring(result.stdout)
        self.variables = dict(self._variables(self.root.find("data"), ""))

    def _variables(self, element, prefix):
        for each in element:
            if each.tag == "group":
                inherited = {"store": each.get("store")} if each.get("store") else {}
                for name, found in self._variables(each, prefix + each.get("name") + "/"):
                    yield name, {**inherited, **found}
            elif each.tag == "variable":
                yield prefix + each.get("name"), {k: v for k, v in each.attrib.items() if k != "name"}

    def all(self, tag):
        return {each.get("name"): {k: v for k, v in each.attrib.items() if k != "name"} for each in self.root.iter(tag)}


def made_of(tmp_path, *arguments, **more):
    return Made(converted(tmp_path, context(*arguments, **more)))

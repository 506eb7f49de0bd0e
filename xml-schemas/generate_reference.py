#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes docs/reference/xml.md from leat.xsd; with --check only says whether it is current.

Fails when an element, attribute or type of the schema has no documentation.
"""

import sys
import textwrap
import xml.etree.ElementTree as ElementTree
from pathlib import Path

XS = "{http://www.w3.org/2001/XMLSchema}"
HERE = Path(__file__).resolve().parent
SCHEMA = HERE / "leat.xsd"
REFERENCE = HERE.parent / "docs" / "reference" / "xml.md"

HEADER = """\
<!-- SPDX-License-Identifier: Apache-2.0 -->
<!-- Made by xml-schemas/generate_reference.py from leat.xsd: change the schema, then run the script. -->
# The XML of Leat

One file describes a run; `leat check FILE` says all errors in it, or shows what the run will be.

- In the value of every attribute `${NAME}` becomes the environment variable of this name, and
  `${NAME:-default}` the default when there is none or it is empty. Values bring in no markup.
- Unknown elements and attributes are errors, and so is a DOCTYPE.
- Files for Damaris are read too: [XML of Damaris](damaris.md).
- A file is UTF-8 unless its first line says another encoding.
"""


class Undocumented(Exception):
    pass


def documentation(node):
    found = node.find(f"{XS}annotation/{XS}documentation")
    text = "".join(found.itertext()).strip() if found is not None else ""
    if not text:
        raise Undocumented(f"{node.tag.removeprefix(XS)} \"{node.get('name')}\"")
    return text


def example(element):
    found = element.find(f"{XS}annotation/{XS}appinfo")
    if found is None:
        return ""
    text = found.text.strip()
    ElementTree.fromstring(text)  # an example that is no XML is an error here
    return f"\n```xml\n{text}\n```\n"


def prose(text):
    """For Markdown, which shows what is between backticks as it is."""
    parts = text.split("`")
    parts[::2] = [part.replace("<", "&lt;") for part in parts[::2]]
    return "`".join(parts)


def cell(text):
    return " ".join(prose(text.replace("|", "\\|")).split())


def attribute_row(attribute, types):
    name = attribute.get("name")
    if attribute.get("use") == "required":
        default = "required"
    else:
        default = f"`{attribute.get('default')}`" if attribute.get("default") else ""
    text = cell(documentation(attribute))
    return f"| `{name}` | {cell(types[attribute.get('type')])} | {default} | {text} |\n"


def attribute_rows(element, types, groups, said):
    """`said`: {group: element whose section has it already}."""
    for each in element.iter():
        if each.tag == f"{XS}attribute":
            yield attribute_row(each, types)
        elif each.tag == f"{XS}attributeGroup":
            name = each.get("ref")
            for attribute in groups[name].iter(f"{XS}attribute"):
                row = attribute_row(attribute, types)
                yield row if name not in said else f"{row.rpartition(' | ')[0]} | As of [`<{said[name]}>`](#{said[name]}). |\n"
            said.setdefault(name, element.get("name"))


def children(element):
    names = [each.get("ref") for each in element.iter(f"{XS}element") if each.get("ref")]
    return ", ".join(f"[`<{name}>`](#{name})" for name in names)


def section(element, parents, types, groups, said):
    name = element.get("name")
    text = f"\n## {name}\n\n"
    for paragraph in documentation(element).split("\n\n"):
        paragraph = prose(paragraph).replace("*", "\\*")
        text += textwrap.fill(paragraph, 110, break_on_hyphens=False) + "\n\n"
    inside = ", ".join(f"[`<{parent}>`](#{parent})" for parent in parents)
    text += f"Stands in: {inside or 'nothing, it is the root'}.\n"
    if children(element):
        text += f"Has inside: {children(element)}.\n"
    rows = list(attribute_rows(element, types, groups, said))
    if rows:
        text += "\n| attribute | value | default | meaning |\n|---|---|---|---|\n" + "".join(rows)
    return text + example(element)


def reference():
    schema = ElementTree.parse(SCHEMA).getroot()
    types = {each.get("name"): documentation(each) for each in schema.findall(f"{XS}simpleType")}
    groups = {each.get("name"): each for each in schema.findall(f"{XS}attributeGroup")}
    elements = schema.findall(f"{XS}element")
    text, said = HEADER, {}
    for element in elements:
        name = element.get("name")
        parents = [
            each.get("name")
            for each in elements
            if any(child.get("ref") == name for child in each.iter(f"{XS}element"))
        ]
        text += section(element, parents, types, groups, said)
    return text


def main():
    try:
        text = reference()
    except Undocumented as missing:
        sys.exit(f"leat.xsd: {missing} has no documentation")
    if "--check" not in sys.argv[1:]:
        REFERENCE.parent.mkdir(parents=True, exist_ok=True)
        REFERENCE.write_text(text, encoding="utf-8")
    elif not REFERENCE.exists() or REFERENCE.read_text(encoding="utf-8") != text:
        sys.exit(f"{REFERENCE} is not what leat.xsd says: run {Path(__file__).name} and commit")


if __name__ == "__main__":
    main()

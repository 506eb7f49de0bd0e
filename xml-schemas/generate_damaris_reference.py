#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the tables of docs/reference/damaris.md from lib/model/damaris/mapping.def; with --check only says whether they are current."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "lib" / "model" / "damaris" / "mapping.def"
PAGE = ROOT / "docs" / "reference" / "damaris.md"
BEGIN, END = "<!-- begin: made by xml-schemas/generate_damaris_reference.py -->", "<!-- end -->"
FATES = {"taken": "", "noted": "note", "lost": "warning", "part": ""}
STRING = r'"((?:[^"\\]|\\.)*)"'
ELEMENT = re.compile(rf"^LEAT_DAMARIS_ELEMENT\({STRING}, {STRING}, (\w+), {STRING}\)$", re.M)
ATTRIBUTE = re.compile(rf"^LEAT_DAMARIS_ATTRIBUTE\({STRING}, {STRING}, (\w+), {STRING}, (\w+), {STRING}, {STRING}\)$", re.M)
OPTION = re.compile(rf"^LEAT_DAMARIS_OPTION\({STRING}, {STRING}, (\w+), {STRING}, {STRING}\)$", re.M)


def plain(text):
    return text.replace('\\"', '"')


def in_a_cell(text):
    """Tags of a message as code; what is code already stays."""
    parts = re.split(r"(`[^`]*`)", plain(text))
    return "".join(p if p.startswith("`") else re.sub(r"(<[^>]*>)+", lambda tags: f"`{tags[0]}`", p) for p in parts)


def row(what, fate, same, text):
    said = FATES[fate] + (f", unless `{plain(same)}`" if FATES[fate] and same else "")
    return f"| {what} | {in_a_cell(text)} | {said} |"


def tables(definition):
    elements, attributes, options = (kind.findall(definition) for kind in (ELEMENT, ATTRIBUTE, OPTION))
    lines = ["| Damaris | Leat | said |", "|---|---|---|"]
    done = set()
    for name, parents, fate, text in elements:
        inside = " in " + " and ".join(f"`<{p}>`" for p in parents.split()) if parents else ""
        lines.append(row(f"**`<{name}>`**{inside}", fate, "", text))
        if name not in done:
            lines += [row(f"`{name} {a}`", f, same, t) for e, a, _, _, f, same, t in attributes if e == name]
        done.add(name)
    lines += ["", "Options of a store:", "", "| `<option key>` | Leat | said |", "|---|---|---|"]
    lines += [row(f"`{key}`", fate, same, text) for key, _, fate, same, text in options]
    return "\n".join(lines)


def page_with(text, made):
    before, rest = text.split(BEGIN)
    return before + BEGIN + "\n" + made + "\n" + END + rest.split(END, 1)[1]


def main():
    text = PAGE.read_text()
    made = page_with(text, tables(TABLE.read_text()))
    if "--check" in sys.argv[1:]:
        if made != text:
            sys.exit(f"{PAGE} is not that of {TABLE}: run {sys.argv[0]}")
    else:
        PAGE.write_text(made)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes of verbs.def the methods of leat.control: python-plugins/leat/_verbs.py. --check: only says whether they are current."""
import ast
import pathlib
import re
import sys
import textwrap

FOLDER = pathlib.Path(__file__).resolve().parent
MADE = FOLDER.parents[1] / "python-plugins/leat/_verbs.py"
ROW = re.compile(r"^LEAT_CONTROL_VERB\((\w+), (\w+),\s*(.*?)\)$", re.M | re.S)
STRING = re.compile(r'R"\(.*?\)"|(?:"(?:\\.|[^"\\])*"\s*)+', re.S)


def verbs():
    """(name, kind, its arguments, what it is for) of each row that is no stream."""
    for name, kind, rest in ROW.findall((FOLDER / "verbs.def").read_text()):
        arguments, _, _, _, about, details = (s if s.startswith("R") else ast.literal_eval(f"({s})") for s in STRING.findall(rest))
        yield name, kind, [each.split(": ")[0] for each in arguments.split(", ") if each], (about, details)


def method(name, kind, arguments, purpose):
    about, details = purpose
    doc = textwrap.wrap(f'"""{about[0].upper()}{about[1:]}. {details}'.rstrip() + '"""', 120)
    taken = ["self"] + [a.replace("?", "=None") for a in arguments]
    given = [f'"{name.replace("_", "-")}"'] + [f"{a}={a}" for a in (a.rstrip("?") for a in arguments)]
    how = "_order" if kind in ("order", "request") else "_ask"
    return (f"\n    def {name}({', '.join(taken)}):\n" + textwrap.indent("\n".join(doc), " " * 8)
            + f"\n        return self.{how}({', '.join(given)})\n")


HEAD = '''\
# SPDX-License-Identifier: Apache-2.0
"""What one may ask of a running session, a method each; docs/reference/leat-ctl.md says what each answer has.

Made by lib/control/generate_verbs.py of verbs.def: change that."""


class Verbs:
    """A fact is asked for with _ask, an order is given with _order."""
'''


def text():
    return HEAD + "".join(method(*each) for each in verbs())


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        if MADE.read_text() != text():
            sys.exit(f"{MADE} is not what lib/control/verbs.def says: run lib/control/generate_verbs.py")
    else:
        MADE.write_text(text())

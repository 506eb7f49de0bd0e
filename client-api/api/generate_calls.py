#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes of calls.def what users of C++ and Python compile and import: leat_calls.hpp, leat/_calls.py, and the names in
leat/__init__.py; and leat_stub.h, for codes without Leat. --check: only says whether they are current."""
import pathlib
import re
import sys
import textwrap

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from calls_table import FOLDER, calls  # noqa: E402 - found beside this file, wherever it is called from
from stub_header import header as stub_header  # noqa: E402 - as well

PACKAGE = FOLDER.parents[1] / "python-plugins/leat"
CPP = {"TEXT": "const char* {}", "BLOCK": "std::uint32_t {} = 0", "RANKS": "std::int32_t {} = 0", "INT": "std::int32_t {}",
       "LONG": "std::int64_t {}", "REAL": "double {}", "NUMBERS": "Extents {}", "POSITION": "Extents {}", "REALS": "Reals {}",
       "LONG_TO": "std::int64_t& {}",
       "REAL_TO": "double& {}"}
LISTS = {"NUMBERS": "leat_list", "POSITION": "leat_list", "REALS": "leat_reals"}
CPP_GIVES = {**dict.fromkeys(LISTS, "&list"), "LONG_TO": "&{}", "REAL_TO": "&{}"}
PYTHON_GIVES = {"NUMBERS": "[int(n) for n in {}]", "POSITION": "[int(n) for n in {}]", "REALS": "[float(x) for x in {}]",
                "REAL": "float({})", "INT": "int({})",
                "LONG": "int({})", "RANKS": "int({})"}
FILLED = ("LONG_TO", "REAL_TO")


def cpp_signature(call):
    head = f"inline leat_status {call.name}("
    line = head
    words = [CPP[a.role].format(a.name) for a in call.in_order_of_languages()]
    for number, word in enumerate(words):
        end = "," if number + 1 < len(words) else ") {"
        if len(line.split("\n")[-1]) + len(word) + len(end) > 99:
            line = line.rstrip() + "\n" + " " * len(head)
        line += word + end + " "
    return line.rstrip() if words else head + ") {"


def cpp_of(call):
    given = ", ".join(CPP_GIVES.get(a.role, "{}").format(a.name) for a in call.arguments)
    body = [f"const {LISTS[a.role]} list = list_of({a.name});" for a in call.arguments if a.role in LISTS]
    body.append(f"return check(leat_{call.function}({given}));")
    comment = "".join(f"/// {line}\n" for line in textwrap.wrap(call.purpose, 95))
    short = f"{cpp_signature(call)} {' '.join(body)} }}"
    if len(body) == 1 and len(short) <= 100:
        return f"{comment}{short}\n"
    return comment + cpp_signature(call) + "".join(f"\n  {line}" for line in body) + "\n}\n"


def cpp():
    return ("// SPDX-License-Identifier: Apache-2.0\n// The calls of leat.hpp that take no more than a translation of their arguments.\n"
            "// Made by generate_calls.py of calls.def: change that.\n#pragma once\n\n#include <cstdint>\n\n#include \"leat.hpp\"\n\n"
            "namespace leat {\n\n" + "\n".join(cpp_of(c) for c in calls() if c.is_made_for("C++")) + "\n}  // namespace leat\n")


def python_names():
    return [c.name for c in calls() if c.is_made_for("Python")]


def python_of(call):
    taken = ", ".join(a.name + ("=0" if a.role in ("BLOCK", "RANKS") else "") for a in call.in_order_of_languages()
                      if a.role not in FILLED)
    given = ", ".join(PYTHON_GIVES.get(a.role, "str({})" if a.name == "value" else "{}").format(a.name)
                      for a in call.arguments if a.role not in FILLED)
    words = '"""' + call.purpose + '"""'
    doc = "\n".join(textwrap.wrap(words, 140, initial_indent="    ", subsequent_indent="    "))
    if any(a.role in FILLED for a in call.arguments):
        body = f"    status, value = _core.{call.name}({given})\n    _check(status)\n    return value"
    else:
        body = f"    _check(_core.{call.name}({given}))"
    return f"\n\ndef {call.name}({taken}):\n{doc}\n{body}\n"


def names(variable):
    listed = ", ".join(f'"{name}"' for name in python_names())
    return f"{variable} = (" + f"\n{' ' * (len(variable) + 4)}".join(textwrap.wrap(listed, 120 - len(variable))) + ")"


def python():
    return ('# SPDX-License-Identifier: Apache-2.0\n"""The verbs of leat.client that take no more than a translation of their arguments.'
            '\n\n'
            'Made by client-api/api/generate_calls.py of calls.def: change that."""\nfrom . import _core\n'
            'from .errors import check as _check\n\n'
            + names("__all__") + "\n" + "".join(python_of(c) for c in calls() if c.is_made_for("Python")))


def package():
    text = (PACKAGE / "__init__.py").read_text()
    return re.sub(r"^_MADE = \(.*?\)$", names("_MADE"), text, flags=re.S | re.M)


def main():
    made = {FOLDER / "leat_calls.hpp": cpp(), PACKAGE / "_calls.py": python(), PACKAGE / "__init__.py": package(),
            FOLDER / "leat_stub.h": stub_header()}
    for path, text in made.items():
        if sys.argv[1:] != ["--check"]:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            sys.exit(f"{path} is not what calls.def says: run client-api/api/generate_calls.py")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes docs/reference/c-api.md from client-api/api/leat.h and leat_mpi.h. --check: only says whether it is current."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/reference/c-api.md"


def unwrap(comment):
    """The text of a C comment, without its stars."""
    lines = [re.sub(r"^\s*\* ?", "", line) for line in comment.strip().splitlines()]
    text = "\n".join(lines).strip()
    return re.sub(r"\n(?=\w+: )", "\n\n", text)  # "config: ...", "Errors: ..." are paragraphs


def sections(header):
    """(comment, declarations) of each group of functions: a comment stands above the functions it speaks of."""
    pattern = re.compile(r"/\*((?:(?!\*/).)*)\*/\n((?:(?:LEAT_API|static inline)[^{;]*[;{]\n?)+)", re.S)
    for comment, code in pattern.findall(header):
        yield unwrap(comment), [re.sub(r"LEAT_API |\s*\{$|;$", "", d.strip()) + ";"
                                for d in re.findall(r"(?:LEAT_API|static inline)[^{;]*[;{]", code)]


def statuses(header):
    for name, value, meaning in re.findall(r"(LEAT_\w+) = (-?\d+),?\s*/\* (.*?) \*/", header):
        yield f"| `{name}` | {value} | {meaning} |"


def conventions(header):
    text = unwrap(re.search(r"Conventions\n(.*?)\*/", header, re.S).group(1))
    joined = re.sub(r"\n\s*(?=\S)(?!\d+\. )", " ", text)
    return re.sub(r"^ +", "", joined, flags=re.M)


def types(header):
    """leat_type, leat_array, leat_ranks: each with the numbers that it uses and the comment above it."""
    numbers = dict(re.findall(r"^#define ((LEAT_\w+) \d+)$", header, re.M))
    pattern = re.compile(r"/\*((?:(?!\*/).)*)\*/\n(typedef (?:struct|enum) \w+ \{.*?\} \w+;)", re.S)
    for comment, code in pattern.findall(header):
        used = [f"#define {line}" for line, name in numbers.items() if name in code]
        yield "```c\n" + "\n".join([*used, code]) + "\n```\n\n" + unwrap(comment)


def page():
    core, mpi = (ROOT / "client-api/api/leat.h").read_text(), (ROOT / "client-api/api/leat_mpi.h").read_text()
    parts = ["# C API", "<!-- Made by tools/generate_c_reference.py from leat.h: change that. -->",
             "`#include <leat.h>`, and `<leat_mpi.h>` in MPI codes; link `libleat`, or `libleat_stub` for calls that do "
             "nothing.", "## Conventions", conventions(core), "## Status codes",
             "| name | value | meaning |\n|---|---|---|\n" + "\n".join(statuses(core)), "## Types",
             *types(core), "## Calls"]
    for comment, declarations in [*sections(core), *sections(mpi)]:
        parts.append("```c\n" + "\n".join(declarations) + "\n```\n\n" + comment)
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        if not PAGE.exists() or PAGE.read_text() != page():
            sys.exit(f"{PAGE} is not what leat.h says: run tools/generate_c_reference.py")
    else:
        PAGE.write_text(page())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes docs/reference/c-api.md from leat.h, leat_mpi.h and leat_build.h in client-api/api, and from the table of calls there,
calls.def. Fails where a header declares a call otherwise than the table. --check: only says whether the page is current."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
API = ROOT / "client-api/api"
sys.path.insert(0, str(API))
from calls_table import calls  # noqa: E402 - its folder is no package

PAGE = ROOT / "docs/reference/c-api.md"
OTHER_LANGUAGES = """`leat::name` in C++ (`leat.hpp`), `call leat_name(..., stat, errmsg)` in Fortran (module `leat`), `leat.name`
in Python. Arguments are in the order of C, with one exception: `block`, behind the name in C, is the last one there, since it may
be left out and is 0 then; `ranks` may be left out too. Indices count from 1 in Fortran, and lists are in its order. The third
column says for which languages the call is made of the table of calls, `client-api/api/calls.def`, as it stands; in the others it
is written by hand, in the way of that language: arrays as they are, values that are returned."""
BUILT_ON_LEAT = """`#include <leat_build.h>`: other languages, and libraries that give Leat another interface or bring it something.
Their calls may be made of `leat_calls.def`, which is installed beside it."""


def unwrap(comment):
    """The text of a C comment, without its stars."""
    lines = [re.sub(r"^\s*\* ?", "", line) for line in comment.strip().splitlines()]
    text = re.sub(r"<[a-z][^<>\n]*>", r"`\g<0>`", "\n".join(lines).strip())  # elements of the XML; bare ones are tags to Markdown
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


def declared(*headers):
    """What the headers declare, each call on one line."""
    texts = [re.sub(r"/\*.*?\*/", "", header, flags=re.S) for header in headers]
    found = [" ".join(d.split()) for text in texts for d in re.findall(r"^LEAT_API ([^;{]*;)", text, re.M)]
    return [re.sub(r"\( ", "(", d) for d in found]


def check_table(*headers):
    in_headers, in_table = set(declared(*headers)), {call.declaration() for call in calls()}
    if in_headers != in_table:
        sys.exit("the headers and client-api/api/calls.def differ:\n" +
                 "".join(f"  header: {d}\n" for d in sorted(in_headers - in_table)) +
                 "".join(f"  table:  {d}\n" for d in sorted(in_table - in_headers)))


def other_languages():
    """A row for each call: how C++, Fortran and Python have it, and what it is for."""
    for call in calls():
        if call.name:
            names = [a.name for a in call.in_order_of_languages()]
            languages = [language for language in ("C++", "Fortran", "Python") if call.is_made_for(language)]
            purpose = call.purpose.replace("<", "&lt;")
            yield f"| `{call.name}({', '.join(names)})` | `leat_{call.function}` | {', '.join(languages) or '-'} | {purpose} |"


def page():
    core, mpi, build = ((API / name).read_text() for name in ("leat.h", "leat_mpi.h", "leat_build.h"))
    check_table(core, build)
    parts = ["# C API", "<!-- Made by tools/generate_c_reference.py from leat.h, leat_mpi.h, leat_build.h and calls.def: change those. -->",
             "`#include <leat.h>`, and `<leat_mpi.h>` in MPI codes; link `libleat`, or `libleat_stub` for calls that do "
             "nothing.", "## Conventions", conventions(core), "## Status codes",
             "| name | value | meaning |\n|---|---|---|\n" + "\n".join(statuses(core)), "## Types",
             *types(core), "## Calls"]
    for comment, declarations in [*sections(core), *sections(mpi)]:
        parts.append("```c\n" + "\n".join(declarations) + "\n```\n\n" + comment)
    parts += ["## The same calls in C++, Fortran and Python",
              OTHER_LANGUAGES,
              "| call | of C | as it stands in | what it is for |\n|---|---|---|---|\n" + "\n".join(other_languages()),
              "## For what is built on Leat", BUILT_ON_LEAT]
    parts += types(build)
    for comment, declarations in sections(build):
        parts.append("```c\n" + "\n".join(declarations) + "\n```\n\n" + comment)
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        if not PAGE.exists() or PAGE.read_text() != page():
            sys.exit(f"{PAGE} is not what the headers and calls.def say: run tools/generate_c_reference.py")
    else:
        PAGE.write_text(page())

# SPDX-License-Identifier: Apache-2.0
"""No file is without its licence and its purpose, no link leads nowhere, no page is out of reach, no test is left out."""
import ast
import io
import posixpath
import re
import tokenize

import pytest
from tree import ROOT, files, text

# Pages are prose; JSON and PNG know no comments; of the reader's cases every line and column is counted;
# what the fuzzer found is kept as it was, and what ParaView wrote; what is packed is no text; Debian has forms of its own.
WITHOUT_LICENCE_LINE = re.compile(r".*\.(md|json|png)|LICENSE|[.]gitignore|tests/(config|damaris)/.*\.(xml|expect)|"
                                  r"tests/fuzz/corpus/.*|tests/catalyst/exported/.*|.*[.]gz|"
                                  r"tools/packages/debian/(changelog|copyright|source/format)")
# These could have one, and do not yet.
LICENCE_LINE_TO_COME = {"server/plugins/exports.map", "tests/api/api.xml.in", "tests/cpp/cpp.xml", "tests/fortran/verbs.xml"}


def names_its_licence(source):
    lines = [line for line in source.splitlines()[:2] if not line.startswith(("#!", "<?xml"))]
    return bool(lines) and "SPDX-License-Identifier: Apache-2.0" in lines[0]


@pytest.mark.parametrize("path", [p for p in files() if not WITHOUT_LICENCE_LINE.fullmatch(p)])
def test_every_file_names_its_licence_in_its_first_line(path):
    assert names_its_licence(text(path)) or path in LICENCE_LINE_TO_COME


def test_a_file_without_licence_is_found():
    assert names_its_licence("#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n")
    assert not names_its_licence("int x;\n// SPDX-License-Identifier: Apache-2.0\n")
    assert not names_its_licence("")


def says_what_it_is_for(path, source):
    """The first thing behind the licence is a comment, or a docstring."""
    if path.endswith(".py"):
        return ast.get_docstring(ast.parse(source)) is not None
    rest = re.sub(r"\A[^\n]*SPDX-License-Identifier: Apache-2.0", "", source)
    return re.match(r"(\s*\*/)?\s*(//|/\*|\*)[\s*]*[^\s*/]", rest) is not None


# A class is explained in its header, a unit test by the class that it names; what ParaView wrote says so itself.
EXPLAINED_ELSEWHERE = re.compile(r"tests/unit/.*_test\.cpp|tests/catalyst/exported/.*")
TO_EXPLAIN = [p for p in files() if re.search(r"\.(hpp|h|py|cpp|c)$", p) and not EXPLAINED_ELSEWHERE.fullmatch(p)
              and not any((ROOT / p).with_suffix(header).exists() for header in (".hpp", ".h") if p.endswith((".cpp", ".c")))]


@pytest.mark.parametrize("path", TO_EXPLAIN)
def test_the_first_comment_of_a_file_says_what_it_is_for(path):
    assert says_what_it_is_for(path, text(path))


def test_a_file_that_does_not_say_what_it_is_for_is_found():
    licence = "// SPDX-License-Identifier: Apache-2.0\n"
    assert says_what_it_is_for("x.hpp", licence + "// Words.\n#pragma once\n")
    assert says_what_it_is_for("x.c", "/* SPDX-License-Identifier: Apache-2.0\n * Words. */\n")
    assert says_what_it_is_for("x.c", "/* SPDX-License-Identifier: Apache-2.0 */\n/* Words. */\n")
    assert not says_what_it_is_for("x.hpp", licence + "#pragma once\n\n/// Words.\n")
    assert not says_what_it_is_for("x.c", "/* SPDX-License-Identifier: Apache-2.0 */\n#include <leat.h>\n")
    assert says_what_it_is_for("x.py", '# Licence\n"""Words."""\n') and not says_what_it_is_for("x.py", "import os\n")


def links(page):
    """What a page links to in this repository, from its root."""
    for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", re.sub(r"```.*?```", "", text(page), flags=re.S)):
        if not link.startswith(("http:", "https:", "mailto:")):
            yield posixpath.normpath(posixpath.join(posixpath.dirname(page), link))


PAGES = [p for p in files() if p.endswith(".md")]


@pytest.mark.parametrize("page", PAGES)
def test_links_of_the_documentation_lead_somewhere(page):
    assert [link for link in links(page) if not (ROOT / link).exists()] == []


def comments(path, source):
    if path.endswith(".py"):
        tokens = tokenize.generate_tokens(io.StringIO(source).readline)
        yield from (token.string for token in tokens if token.type == tokenize.COMMENT)
        nodes = (ast.Module, ast.ClassDef, ast.FunctionDef)
        yield from (ast.get_docstring(node) or "" for node in ast.walk(ast.parse(source)) if isinstance(node, nodes))
    elif re.search(r"\.(c|cpp|h|hpp|def)(\.in)?$", path):
        yield from re.findall(r"//[^\n]*|/\*.*?\*/", source, re.S)
    elif re.search(r"\.(f90|cmake|txt|toml|yaml)$|Makefile|tools/", path):
        yield from re.findall(r"[!#][^\n]*", source)


# Of others, or made by a run.
NOT_OURS = re.compile(r"(build|analysis|orte|hwloc|src/model)/.*|(ISO_Fortran_binding|mpi|vtkCellType|H5Zzfp_plugin)\.h|"
                      r"(blosc_filter|rmaps_rank_file_component)\.c|leat/plugin\.h|monitor\.py|matrix\.f90|(FOLDER/)?(PAGE|results|schedules)\.md")


def ends(paths):
    """Paths from the root, and all shorter ones: as comments name files."""
    return {"/".join(parts[i:]) for parts in (path.split("/") for path in paths) for i in range(len(parts))}


def names_of_no_file(path, source, known):
    """What comments name as a file and is none."""
    names = {name for comment in comments(path, source)
             for name in re.findall(r"(?<![\w/.>}<*$+-])\w[\w./+-]*\.(?:cpp|hpp|h|c|py|f90|md|cmake|xsd|def)\b(?![\w*.])", comment)}
    return sorted(name for name in names - known if not NOT_OURS.fullmatch(name))


KNOWN = ends(p.removesuffix(".in") for p in files())


WITH_COMMENTS = r"\.(c|cpp|h|hpp|def|py|f90|cmake|txt|toml|yaml|in)$|Makefile|^tools/"


@pytest.mark.parametrize("path", [p for p in files() if re.search(WITH_COMMENTS, p)])
def test_files_that_comments_name_are_there(path):
    assert names_of_no_file(path, text(path), KNOWN) == []


def test_a_comment_that_names_no_file_is_found():
    there = ends(["server/workers/frame.hpp", "docs/README.md"])
    assert names_of_no_file("x.hpp", "/* see server/workers/frames.hpp,\n and docs/README.md */", there) == ["server/workers/frames.hpp"]
    assert names_of_no_file("x.py", '"""As frame.hpp."""\nname = "x.cpp"  # and frames.py\n', there) == ["frames.py"]
    assert names_of_no_file("x.cpp", '#include "x.hpp"\nint x;  // of mpi.h\n', there) == []


def of_another_thread(source):
    return "/proc/self/fd" in source


def test_who_has_descriptors_of_its_own_asks_for_them():
    """The server may be a thread with a table of its own: /proc/self/fd has that of the main thread."""
    assert of_another_thread('open("/proc/self/fd/" + std::to_string(fd))')
    assert [path for path in files() if path.startswith(("lib/", "server/", "client-api/")) and of_another_thread(text(path))] == []


def test_the_index_leads_to_every_page():
    listed = set(links("docs/README.md"))
    assert {p for p in PAGES if p.startswith("docs/")} - {"docs/README.md"} <= listed


def test_the_readme_leads_to_the_index_and_shows_its_picture():
    assert {"docs/README.md", "docs/quickstart.md", "docs/pictures/two-sides.svg", "CONTRIBUTING.md",
            "CHANGELOG.md"} <= set(links("README.md"))


ENTRY = re.compile(r"\b(add_test|leat_add_pytest|gtest_discover_tests)\(")
LISTS = [p for p in files() if re.fullmatch(r"tests/.*/CMakeLists\.txt", p) and "project(" not in text(p)]
# No tests of their own: what tests share.
WITHOUT_TESTS = {"tests/support"}


def test_every_folder_of_tests_is_run_by_ctest():
    rooms = {"/".join(p.split("/")[:2]) for p in files() if p.startswith("tests/") and p.count("/") > 1}
    assert rooms - WITHOUT_TESTS == {r for r in rooms - WITHOUT_TESTS
                                     if any(p.startswith(r + "/") and ENTRY.search(text(p)) for p in LISTS)}


@pytest.mark.parametrize("path", LISTS)
def test_every_list_of_tests_is_included_by_the_one_above(path):
    above, name = posixpath.split(posixpath.dirname(path))
    assert f"add_subdirectory({name})" in text(f"{above}/CMakeLists.txt")


@pytest.mark.parametrize("path", [p for p in files() if re.match(r"tests/.*/test_\w+\.py$", p)])
def test_every_python_test_is_run_by_ctest(path):
    folder, _, name = path.removesuffix(".py").rpartition("/")
    assert re.search(rf"\b(test_)?{name.removeprefix('test_')}\b", text(f"{folder}/CMakeLists.txt"))


@pytest.mark.parametrize("path", [p for p in files() if re.match(r"tests/.*\.(c|cpp|f90)$", p)])
def test_every_source_of_a_test_is_built_by_something(path):
    room, name = "/".join(path.split("/")[:2]), posixpath.splitext(posixpath.basename(path))[0]
    builders = [p for p in files() if p.startswith(room + "/") and p.endswith(("CMakeLists.txt", ".py"))]
    assert any(re.search(rf"\b{name}\b", text(p)) for p in builders)

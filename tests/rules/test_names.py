# SPDX-License-Identifier: Apache-2.0
"""Sources of a target can be compiled as one (LEAT_UNITY): a name in an anonymous namespace is in one of them only. Where two
are functions of other parameters, a call could reach the wrong one and nothing would say so."""
import collections
import posixpath
import re

import pytest
from tree import ROOT, files, text

TARGET = re.compile(r"\b(?:add_library|add_executable|leat_add_plugin|target_sources)\((\S+)\s([^)]*)\)")
# What libleat takes its objects from is compiled file by file.
ALONE = {"client-api/api", "client-api/connect", "client-api/session", "lib/base", "lib/os", "lib/node", "lib/shm"}
DECLARED = re.compile(r"(?:struct|class|enum class|enum) (\w+)|"
                      r"(?!using|namespace|template|static_assert|TEST)(?:[\w:]+(?:<.*>)?[\s*&]+)+(\w+)\s*[(={;\[]")


def targets():
    """(target, its sources): each room says its own."""
    found = collections.defaultdict(list)
    for path in files():
        folder = posixpath.dirname(path)
        if posixpath.basename(path) == "CMakeLists.txt" and folder not in ALONE:
            for name, words in TARGET.findall(text(path)):
                found[name] += [f"{folder}/{w}" for w in words.split() if w.endswith(".cpp") and (ROOT / folder / w).exists()]
    return found.items()


def lines_in(source):
    """(line, whether it is in an anonymous namespace, the namespaces around)."""
    around, is_own = [], False
    for line in source.splitlines():
        if opened := re.fullmatch(r"namespace ([\w:]*) ?\{", line):
            is_own = not opened[1]
            around += [opened[1]] if opened[1] else []
        elif re.match(r"\}  // namespace", line):
            is_own, around = False, around if is_own else around[:-1]
        else:
            yield line, is_own, around


def own_names(source):
    """What its anonymous namespaces declare, with the namespaces around."""
    for line, is_own, around in lines_in(source):
        if is_own and (declared := DECLARED.match(line)):
            yield "::".join([*around, declared[1] or declared[2]])


def aliases(source):
    for line, _, around in lines_in(source):
        if alias := re.match(r"using (\w+) = (.*);", line):
            yield "::".join([*around, alias[1]]), alias[2]


@pytest.mark.parametrize("sources", [pytest.param(sources, id=name) for name, sources in targets() if len(sources) > 1])
def test_a_name_is_in_one_source_of_a_target_only(sources):
    where = collections.defaultdict(set)
    for path in sources:
        for name in own_names(text(path)):
            where[name].add(path)
    assert {name: sorted(paths) for name, paths in where.items() if len(paths) > 1} == {}


@pytest.mark.parametrize("sources", [pytest.param(sources, id=name) for name, sources in targets() if len(sources) > 1])
def test_an_alias_means_the_same_in_all_sources_of_a_target(sources):
    means = collections.defaultdict(set)
    for path in sources:
        for name, meaning in aliases(text(path)):
            means[name].add(meaning)
    assert {name: sorted(all_of_it) for name, all_of_it in means.items() if len(all_of_it) > 1} == {}


def test_names_are_found():
    source = """namespace leat::shm {
namespace {
using Json = int;
constexpr std::int64_t kMost = 3;
const std::map<int, std::vector<int>> of{};
std::vector<int>* first(int x) {
  int y = x;
}
struct Ring {
}  // namespace
int seen() {
}  // namespace leat::shm
"""
    assert list(aliases(source)) == [("leat::shm::Json", "int")]
    assert list(own_names(source)) == [f"leat::shm::{name}" for name in ("kMost", "of", "first", "Ring")]

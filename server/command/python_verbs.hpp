// SPDX-License-Identifier: Apache-2.0
// The verbs of `leat` whose work is done in Python, by tools of python-plugins/launch.py.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

namespace leat::command {

/// Lists them in the help of `leat`.
void add_python_verbs(CLI::App& app);

/// When `words` begin with such a verb: goes on as Python, which reads the other words, --help among
/// them. Returns only when that cannot be, with the exit code.
std::optional<int> run_python_verb(const std::vector<std::string>& words);

}  // namespace leat::command

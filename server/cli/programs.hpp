// SPDX-License-Identifier: Apache-2.0
// How a verb becomes the program that does its work, in Python or not.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

namespace leat::cli {

/// Goes on as another program; the first of the words is what it is told of its own name. Returns only
/// when that cannot be, with the exit code; the reason is said on standard error, after "leat <verb>: ".
int exec_named(const std::string& verb, const std::string& program,
               const std::vector<std::string>& words);

/// Goes on as the program <verb>-hdf5 beside the plugin that has written the files, of which `leat`
/// knows nothing.
int exec_store_program(const std::string& verb, const std::vector<std::string>& arguments);

/// The program behind `leat staging`, beside the plugins.
std::string staging_program();

/// Goes on as a tool of python-plugins/launch.py. `packages`: that it needs; "": none.
int exec_python_tool(const std::string& verb, const std::string& tool,
                     const std::string& interpreter, const std::string& packages,
                     const std::vector<std::string>& words);

// The verbs of `leat` whose work is done in Python, by tools of python-plugins/launch.py.

/// Lists them in the help of `leat`.
void add_python_verbs(CLI::App& app);

/// When `words` begin with such a verb: goes on as Python, which reads the other words, --help among
/// them. Returns only when that cannot be, with the exit code.
std::optional<int> run_python_verb(const std::vector<std::string>& words);

}  // namespace leat::cli

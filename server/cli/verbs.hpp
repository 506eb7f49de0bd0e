// SPDX-License-Identifier: Apache-2.0
// The verbs of `leat`: each adds itself to the command line; running it sets the exit code.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace leat::cli {

// The exit codes of all verbs; --help shows them.
enum ExitCode : int {
  kGood = 0,
  kBad = 1,    ///< what was asked about has errors, or what was asked for failed
  kUsage = 2,  ///< the command line itself is wrong
};
inline constexpr const char* kExitCodesHelp =
    "Exit codes: 0 good; 1 errors were found; 2 the command line is wrong.";

/// On standard output; all of it is out when this returns.
void print(const std::string& text);
/// "leat clean: why" on standard error; returns the exit code.
int refuse(const std::string& verb, const std::string& why, int exit_code = kBad);

void add_check(CLI::App& app, int& exit_code);
void add_clean(CLI::App& app, int& exit_code);
void add_convert(CLI::App& app, int& exit_code);
void add_ctl(CLI::App& app, int& exit_code);
void add_doctor(CLI::App& app, int& exit_code);
void add_launch(CLI::App& app, int& exit_code);
void add_ls(CLI::App& app, int& exit_code);
void add_merge(CLI::App& app, int& exit_code);
void add_placement(CLI::App& app, int& exit_code);
void add_recover(CLI::App& app, int& exit_code);
void add_staging(CLI::App& app, int& exit_code);
void add_top(CLI::App& app, int& exit_code);
void add_view(CLI::App& app, int& exit_code);

}  // namespace leat::cli

// SPDX-License-Identifier: Apache-2.0
// The exit codes of `leat`, for all verbs; --help shows them.
#pragma once

namespace leat::command {

enum ExitCode : int {
  kGood = 0,
  kBad = 1,    ///< what was asked about has errors, or what was asked for failed
  kUsage = 2,  ///< the command line itself is wrong
};

inline constexpr const char* kExitCodesHelp =
    "Exit codes: 0 good; 1 errors were found; 2 the command line is wrong.";

}  // namespace leat::command

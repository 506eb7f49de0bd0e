// SPDX-License-Identifier: Apache-2.0
// `leat check --iterations`: what a run of that length would never come to.
#pragma once

#include "lib/base/status.hpp"
#include "server/cli/check_report.hpp"

namespace leat::cli {

/// Adds a warning for each period that does not end in a run of so many iterations, and for what such a run has once only. Without
/// --time-step periods of time are not looked at. ERROR_ARGUMENT: --time-step is no time.
Result<void> check_length(CheckReport& report);

}  // namespace leat::cli

// SPDX-License-Identifier: Apache-2.0
// What would have made a run shorter: said only where that is what ranks waited for, in runs that
// are long enough to be judged and in which all went well.
#pragma once

#include <string>

#include "server/report/run_report.hpp"

namespace leat::server {

/// One sentence: what ranks waited for, what to change, and when that holds. "" where there is
/// nothing to say.
std::string advice(const RunReport& report);

}  // namespace leat::server

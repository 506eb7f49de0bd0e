// SPDX-License-Identifier: Apache-2.0
// What is said of calls of scripts that failed.
#pragma once

#include <string>

#include "server/scripts/script_board.hpp"

namespace leat::server {

/// Why an iteration is lost for a script.
struct ScriptFailure {
  std::string text;   ///< with the script's own lines; "" for none
  std::string whole;  ///< with all that Python says, for the script's own log
};

/// Of a traceback the last line, which says what was wrong; else the first.
std::string brief(const std::string& text);

/// A call for this iteration has come to its end: counts it. A script that fails too often in a row is
/// not called any more.
void note_call(ScriptContext& context, Script& script, std::int64_t iteration,
               const ScriptFailure& failure);

/// In the log, each failure once, and with all that Python says in <output>/<script>.log. How often
/// it comes is in the report. `when` and `then` are said before and after.
void tell(ScriptContext& context, Script& script, const std::string& when,
          const ScriptFailure& failure, const std::string& then);

}  // namespace leat::server

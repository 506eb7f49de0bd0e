// SPDX-License-Identifier: Apache-2.0
#include "server/scripts/script_failures.hpp"

#include <fmt/core.h>

namespace leat::server {
namespace {

// Different failures of a script that the log tells of at once, at most; others come each time.
constexpr std::size_t kMostTold = 64;

// <output>/<script>.log. Returns its path; "" when there is nothing to be noted, or no way to.
std::string note_in_own_log(const ScriptOutput& output, const Script& script,
                            const std::string& when, const std::string& text) {
  if (text.empty()) return "";
  const std::string name = script.file.name + ".log";
  const std::string why =
      output.append(name, "script \"" + script.file.name + "\"" + when + ":\n" + text + "\n\n");
  return why.empty() ? output.path() + "/" + name : "";
}

}  // namespace

std::string brief(const std::string& text) {
  if (!text.starts_with("Traceback")) return text.substr(0, text.find('\n'));
  const std::size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return "";
  const std::size_t begin = text.rfind('\n', end);
  return text.substr(begin + 1, end - begin);
}

void note_call(ScriptContext& context, Script& script, std::int64_t iteration,
               const ScriptFailure& failure) {
  std::string stopped;
  {
    const std::lock_guard<std::mutex> lock(context.board.mutex);
    ++script.counts.calls;
    if (failure.text.empty()) {
      script.failures_in_a_row = 0;
      return;
    }
    script.note_failure(brief(failure.text));
    if (++script.failures_in_a_row >= script.source->failures) {
      script.give_up();
      stopped = fmt::format(
          "\nThat was failure {} in a row: it is not called any more. Edit the file to try again.",
          script.failures_in_a_row);
    }
  }
  tell(context, script, fmt::format(", iteration {}", iteration), failure, stopped);
}

void tell(ScriptContext& context, Script& script, const std::string& when,
          const ScriptFailure& failure, const std::string& then) {
  std::uint64_t times = 1;
  {
    const std::lock_guard<std::mutex> lock(context.board.mutex);
    auto& told = script.counts.told;
    if (told.size() < kMostTold || told.count(failure.text)) times = ++told[failure.text];
  }
  if (times == 1) {
    const std::string path = note_in_own_log(context.output, script, when, failure.whole);
    context.log->error("script \"{}\"{}: {}{}{}", script.file.name, when, failure.text,
                       path.empty() ? "" : "\nThe whole traceback is in " + path, then);
  } else if (!then.empty()) {
    context.log->error("script \"{}\"{}: {} (as before, {} times now){}", script.file.name, when,
                       brief(failure.text), times, then);
  }
}

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// ScriptPool: what is said of calls that failed.
#include <fmt/core.h>

#include <filesystem>

#include "lib/platform/folder.hpp"
#include "server/scripts/script_pool.hpp"

namespace leat::server {
namespace {

// Different failures of a script that the log tells of at once, at most; others come each time.
constexpr std::size_t kMostTold = 64;

}  // namespace

std::string brief(const std::string& text) {
  if (!text.starts_with("Traceback")) return text.substr(0, text.find('\n'));
  const std::size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return "";
  const std::size_t begin = text.rfind('\n', end);
  return text.substr(begin + 1, end - begin);
}

void ScriptPool::done(const Order& order, const ScriptFailure& failure) {
  Script& script = *order.script;
  std::string stopped;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
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
  tell(script, fmt::format(", iteration {}", order.job.iteration->number), failure, stopped);
}

// Each failure once. How often it comes is in the report.
void ScriptPool::tell(Script& script, const std::string& when, const ScriptFailure& failure,
                      const std::string& then) {
  std::uint64_t times = 1;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto& told = script.counts.told;
    if (told.size() < kMostTold || told.count(failure.text)) times = ++told[failure.text];
  }
  if (times == 1) {
    const std::string path = note_in_own_log(script, when, failure.whole);
    log_->error("script \"{}\"{}: {}{}{}", script.file.name, when, failure.text,
                path.empty() ? "" : "\nThe whole traceback is in " + path, then);
  } else if (!then.empty()) {
    log_->error("script \"{}\"{}: {} (as before, {} times now){}", script.file.name, when,
                brief(failure.text), times, then);
  }
}

// <output>/<script>.log. Returns its path; "" when there is nothing to be noted, or no way to.
std::string ScriptPool::note_in_own_log(const Script& script, const std::string& when,
                                        const std::string& text) const {
  if (text.empty()) return "";
  std::error_code error;
  std::filesystem::create_directories(output_, error);
  const std::string name = script.file.name + ".log";
  const std::string why = platform::Folder(output_).append(
      name, "script \"" + script.file.name + "\"" + when + ":\n" + text + "\n\n");
  return why.empty() ? output_ + "/" + name : "";
}

}  // namespace leat::server

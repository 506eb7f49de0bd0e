// SPDX-License-Identifier: Apache-2.0
#include "server/scripts/script_steering.hpp"

#include <sstream>
#include <string>
#include <utility>

namespace leat::server {
namespace {

constexpr const char* kAuditTrail = "steering.csv";

// A field of a CSV file, by RFC 4180.
std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string field = "\"";
  for (const char c : text) field += c == '"' ? std::string("\"\"") : std::string(1, c);
  return field + "\"";
}

}  // namespace

void ScriptSteering::ask(SteeringRequest request) {
  const std::lock_guard<std::mutex> lock(mutex_);
  requests_.push_back(std::move(request));
}

std::vector<SteeringRequest> ScriptSteering::take() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(requests_, {});
}

void ScriptSteering::note(const AuditEntry& entry) {
  const std::lock_guard<std::mutex> lock(mutex_);
  notes_.push_back(entry);
}

bool ScriptSteering::has_notes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return !notes_.empty();
}

void ScriptSteering::write_notes(const ScriptOutput& output, Log& log) {
  std::vector<AuditEntry> entries;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    entries.swap(notes_);
  }
  if (entries.empty()) return;
  std::ostringstream lines;
  for (const AuditEntry& entry : entries) {
    lines << entry.iteration << ',' << entry.parameter << ',' << quoted(entry.old_value) << ','
          << quoted(entry.new_value) << ',' << entry.who << '\n';
  }
  const std::string why =
      output.append(kAuditTrail, lines.str(), "iteration,parameter,from,to,script\n");
  if (!why.empty())
    log.error("cannot write the audit trail of steering, {}/{}: {}", output.path(), kAuditTrail,
              why);
}

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
#include "server/driver/run_trace.hpp"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "lib/os/clock.hpp"
#include "lib/os/folder.hpp"
#include "lib/os/process.hpp"

namespace leat::server {
namespace {

// A run that is just ending has its trace still.
constexpr std::int64_t kWaitForTraceNs = 2'000'000'000;

std::string wanted_name(const model::Model& model, const RunFacts& facts) {
  const char* const said = std::getenv("LEAT_TRACE");
  const std::string path = said ? said : model.trace;
  return path.empty() || facts.has_all_ranks() ? path : with_addition(path, own_node_name(facts));
}

std::int64_t wall_offset_ns() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since_1970).count() - os::now_ns();
}

}  // namespace

RunTrace make_trace(const model::Model& model, const RunFacts& facts,
                    const std::shared_ptr<Log>& log) {
  RunTrace made;
  const std::filesystem::path wanted = wanted_name(model, facts);
  if (wanted.empty() || facts.drained) return made;
  std::error_code error;
  if (wanted.has_parent_path()) std::filesystem::create_directories(wanted.parent_path(), error);
  made.name = OwnName(wanted, facts.session, facts.resumed, kWaitForTraceNs);
  if (!made.name.why_another().empty()) log->warn("{}", made.name.why_another());
  const std::string& path = made.name.path();
  os::UniqueFd file = os::open_file_of_user(path, !facts.resumed);
  if (!file) {
    log->warn("the trace {} cannot be written, and there is none: {}", path, os::errno_text(errno));
    return made;
  }
  log->debug("the trace is {}: open it at ui.perfetto.dev, or `leat trace {} --svg run.svg`", path,
             path);
  made.trace = std::make_shared<Trace>(
      std::make_unique<TraceFile>(path, std::move(file), facts.resumed, log),
      model.name + " on " + own_node_name(facts),
      facts.run_session.empty() ? facts.session : facts.run_session, own_node_name(facts),
      wall_offset_ns());
  return made;
}

}  // namespace leat::server

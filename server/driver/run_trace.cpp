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

// A staging node may have all ranks as well, and the name of a node of the simulation in tests.
std::string server_name(const RunFacts& facts, model::At at) {
  return (at == model::At::staging ? "staging-" : "") + own_node_name(facts);
}

std::string wanted_name(const model::Model& model, const RunFacts& facts, model::At at) {
  const char* const said = std::getenv("LEAT_TRACE");
  const std::string path = said ? said : model.trace;
  const bool is_alone = facts.has_all_ranks() && at == model::At::node;
  return path.empty() || is_alone ? path : with_addition(path, server_name(facts, at));
}

std::int64_t wall_offset_ns() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since_1970).count() - os::now_ns();
}

}  // namespace

RunTrace make_trace(const model::Model& model, const RunFacts& facts, model::At at,
                    const std::shared_ptr<Log>& log) {
  RunTrace made;
  const std::filesystem::path wanted = wanted_name(model, facts, at);
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
      model.name + " on " + server_name(facts, at),
      facts.run_session.empty() ? facts.session : facts.run_session, server_name(facts, at),
      wall_offset_ns());
  return made;
}

}  // namespace leat::server

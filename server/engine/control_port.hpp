// SPDX-License-Identifier: Apache-2.0
// What those who watch and steer a run from outside get of its engine. Private to the engine's
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "server/engine/dispatcher.hpp"
#include "server/engine/session_state.hpp"

namespace leat::server {

/// How a run does.
struct Metrics {
  struct Store {
    std::string name;
    std::uint64_t calls = 0, bytes = 0, skipped = 0;
    double seconds = 0;  ///< at work
    std::uint64_t products_taken = 0, products_published = 0;
    std::optional<ScheduleUse> use;
  };
  /// Of a while that ends now, some seconds where there was something to do.
  struct Window {
    double seconds = 0;
    std::uint64_t iterations = 0, bytes = 0;
    double computed_seconds = 0;  ///< processor time of the server
  };

  double uptime_seconds = 0;
  /// Complete on this server; those of them that all stores have, that some store does not have, and
  /// that are on their way.
  std::uint64_t iterations = 0, stored = 0, failed = 0, in_progress = 0;
  std::uint64_t dropped = 0;
  std::uint64_t bytes = 0;  ///< that were handed over
  std::uint64_t used_bytes = 0;
  std::vector<std::int32_t> waiting_ranks;  ///< for buffer space
  double waited_seconds = 0;                ///< by ranks for buffer space, all together
  Window window;
  std::vector<Store> stores;
  std::vector<ScriptMetrics> scripts;
};

class ControlPort {
 public:
  ControlPort(SessionState& session, Dispatcher& dispatcher)
      : session_(session), dispatcher_(dispatcher) {
    session_.run_status.set_row([this] { return row(); });
  }

  /// To be called now and then.
  void tick();

  Metrics metrics();
  /// What this server says of itself to the others of its run: as of now, as JSON.
  std::string row() const;
  /// What all servers of the run say of themselves, as JSON; asks them anew.
  std::string run();
  /// What all servers have said at their ends, as JSON.
  std::string account_of_run() const;
  /// As it was written last.
  std::string ledger() const { return session_.record.text(); }
  /// What happens to iterations; tells it whether somebody wants to know.
  IterationEvents& events() noexcept { return session_.events; }

  /// Values that parameters have for the node's first rank, in the iteration that it is in.
  std::vector<ParameterValue> parameters() const { return session_.parameters.at(INT64_MAX); }
  /// A parameter is to have another value. "", or why that is refused.
  std::string steer(const SteeringRequest& request) { return session_.steer(request); }
  /// An event of the XML is to happen, in the next iteration. "", or why that is refused.
  std::string signal(const std::string& event) { return session_.signals.request(event); }
  /// What complete iterations wait for that no store may begin; "".
  std::string awaited() const { return session_.of_run.awaited(); }
  /// "", or why there is nothing to load.
  std::string reload_scripts();
  /// Modules of graphs, as JSON.
  std::string graph() const { return dispatcher_.scripts().graph().dump(); }
  /// "", or why the graph of the run stays as it is.
  std::string add_to_graph(const std::string& file) {
    return dispatcher_.scripts().add_modules(file);
  }
  std::string remove_from_graph(const std::string& module) {
    return dispatcher_.scripts().remove_module(module);
  }

 private:
  nlohmann::json json_of(const std::map<comm::Rank, std::string>& rows) const;
  struct Sample {
    std::int64_t at_ns = 0;  // 0: not taken
    IterationEvents::Totals totals;
    std::int64_t computed_ns = 0;
  };
  Sample sample() const;

  SessionState& session_;
  Dispatcher& dispatcher_;
  Sample start_, before_, last_;  // before: the one before the last
};

}  // namespace leat::server

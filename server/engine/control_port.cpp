// SPDX-License-Identifier: Apache-2.0
#include "server/engine/control_port.hpp"

#include <nlohmann/json.hpp>

#include "lib/os/clock.hpp"
#include "server/state/journal/names.hpp"

namespace leat::server {
namespace {

using nlohmann::json;

// A window of rates is one to two of these long.
constexpr std::int64_t kSampleNs = 5'000'000'000;

double seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

}  // namespace

ControlPort::Sample ControlPort::sample() const {
  return {os::now_ns(), session_.events.totals(), os::processor_time_ns()};
}

void ControlPort::tick() {
  if (last_.at_ns != 0 && session_.run.now_ns - last_.at_ns < kSampleNs) return;
  before_ = last_;
  last_ = sample();
  if (start_.at_ns == 0) start_ = before_ = last_;
}

Metrics ControlPort::metrics() {
  tick();
  const Sample now = sample();
  const Ledger& ledger = session_.record.ledger();
  Metrics metrics;
  metrics.uptime_seconds = seconds(now.at_ns - start_.at_ns);
  metrics.iterations = now.totals.iterations;
  metrics.bytes = now.totals.bytes;
  metrics.stored = ledger.iterations().stored();
  metrics.failed = ledger.iterations().failed();
  metrics.in_progress = ledger.in_progress();
  metrics.dropped = ledger.table().dropped_iterations();
  metrics.used_bytes = session_.memory.regions().used_bytes();
  for (const std::uint32_t client : session_.memory.requests().waiting_clients())
    metrics.waiting_ranks.push_back(session_.clients[client].rank());
  metrics.waited_seconds = seconds(session_.memory.waited_ns());
  metrics.window = {
      seconds(now.at_ns - before_.at_ns), now.totals.iterations - before_.totals.iterations,
      now.totals.bytes - before_.totals.bytes, seconds(now.computed_ns - before_.computed_ns)};
  for (const auto& store : dispatcher_.pipeline().stores()) {
    const PluginWork& work = store->plugin().work();
    metrics.stores.push_back({store->plugin().store(), work.calls.load(), work.bytes.load(),
                              ledger.table().skipped(store->plugin().store()),
                              seconds(static_cast<std::int64_t>(work.ns.load())),
                              work.products_taken.load(), work.products_published.load(),
                              work.user ? std::optional(work.user->use()) : std::nullopt});
  }
  metrics.scripts = dispatcher_.scripts().metrics();
  return metrics;
}

std::string ControlPort::row() const {
  const Ledger& ledger = session_.record.ledger();
  const std::int64_t least = session_.iterations.least();
  std::int64_t alive = 0;
  for (const ClientLink& each : session_.clients) alive += each.is_gone() ? 0 : 1;
  const IterationEvents::Totals& totals = session_.events.totals();
  return json{{"server", own_node_name(session_.run.facts)},
              {"ranks", session_.run.facts.node_ranks},
              {"ranks_there", alive},
              {"iteration", least == INT64_MAX ? json(nullptr) : json(least)},
              {"complete", totals.iterations},
              {"stored", ledger.iterations().stored()},
              {"failed", ledger.iterations().failed()},
              {"dropped", ledger.table().dropped_iterations()},
              {"lost", ledger.lost_writes()},
              {"bytes", totals.bytes}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

// By server; what one that did not answer would have said is not there.
json ControlPort::json_of(const std::map<comm::Rank, std::string>& rows) const {
  json servers = json::array();
  for (comm::Rank rank = 0; rank < session_.rounds.size(); ++rank) {
    const auto row = rows.find(rank);
    json each = row == rows.end() ? json{{"server", session_.rounds.name_of(rank)}}
                                  : json::parse(row->second, nullptr, false);
    if (each.is_discarded()) continue;
    each["state"] = session_.rounds.dead().has(rank)   ? "silent"
                    : session_.rounds.left().has(rank) ? "ended"
                    : row == rows.end()                ? "unknown"
                                                       : "there";
    servers.push_back(std::move(each));
  }
  return servers;
}

std::string ControlPort::account_of_run() const {
  json servers = json_of(session_.run_status.ends());
  json totals = json::object();
  for (const char* key : {"ranks", "bytes", "lost"}) {
    std::uint64_t sum = 0;
    for (const json& each : servers) sum += each.value(key, std::uint64_t{0});
    totals[key] = sum;
  }
  json missing = json::array();
  for (json& each : servers) {
    each.erase("state");
    if (!each.contains("ranks")) missing.push_back(each["server"]);
  }
  return json{{"leat_run", 1},
              {"simulation", session_.run.model.name},
              {"session", session_.run.facts.run_session},
              {"agreed", session_.of_run.next() - 1},
              {"totals", std::move(totals)},
              {"missing", std::move(missing)},
              {"servers", std::move(servers)}}
      .dump(2, ' ', false, json::error_handler_t::replace);
}

std::string ControlPort::run() {
  session_.run_status.ask();
  const RunStatus::Rows& known = session_.run_status.rows();
  json servers = json_of(known.rows);
  const std::string why_alone = session_.rounds.why_alone();
  return json{{"servers", std::move(servers)},
              {"this", session_.rounds.self()},
              {"alone", why_alone.empty() ? json(nullptr) : json(why_alone)},
              {"reported", session_.of_run.reported()},
              {"agreed", session_.of_run.next() - 1},
              {"age_seconds",
               known.at_ns == 0 ? json(nullptr) : json(seconds(session_.run.now_ns - known.at_ns))}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string ControlPort::reload_scripts() {
  if (!dispatcher_.scripts().exists()) return "this run has no <scripts>";
  dispatcher_.scripts().reload();
  return "";
}

}  // namespace leat::server

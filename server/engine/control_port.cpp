// SPDX-License-Identifier: Apache-2.0
#include "server/engine/control_port.hpp"

#include "lib/os/clock.hpp"

namespace leat::server {
namespace {

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

std::string ControlPort::reload_scripts() {
  if (!dispatcher_.scripts().exists()) return "this run has no <scripts>";
  dispatcher_.scripts().reload();
  return "";
}

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// Server: a segment of which all processes were killed. It is taken over as from a server that has
// died, its ranks are dead to begin with, and nobody comes; docs/design/takeover.md has more.
#include "lib/platform/clock.hpp"

#include <nlohmann/json.hpp>
#include "lib/platform/memory.hpp"
#include "server/engine/server.hpp"

namespace leat::server {
namespace {

const char* plural(std::uint64_t count) { return count == 1 ? "" : "s"; }

}  // namespace

void Server::end_all_clients() {
  ledger_.begin_drain();
  for (std::uint32_t i = 0; i < clients_.size(); ++i) {
    ClientLink& client = clients_[i];
    if (client.is_gone()) continue;
    if (client.phase() == ClientLink::Phase::attached) {
      client_hung_up(client);
      continue;
    }
    never_came(i);
  }
}

// What is drained is passed on when all stores are open: otherwise it stays where it is, for
// another time.
bool Server::may_store() const noexcept { return !facts_.drained || stores_open_; }

void Server::stores_opened(const PipelineResult& result) {
  stores_open_ = true;
  if (!facts_.drained) return;
  for (const StoreOutcome& outcome : result.outcomes) {
    if (outcome.error.empty()) continue;
    given_up_ = "store \"" + outcome.store + "\": " + outcome.error;
    stores_open_ = false;
  }
  if (given_up_.empty()) return;
  log_->error("what session {} has in memory stays there: {}; `leat recover {}` tries again",
              facts_.session, given_up_, facts_.session);
  closed_ = true;
}

// A rank that waits for memory, or for the end of the run, waits for the stores, which wait for
// others: half its time for that, the other for the stores.
void Server::hurry_drains() {
  const std::int64_t now_ns = platform::now_ns();
  const bool pressed = leases_.somebody_waits() || all_gone() || take_until_ns_ != 0;
  if (!pressed) pressed_since_ns_ = 0;
  if (pressed && pressed_since_ns_ == 0) pressed_since_ns_ = now_ns;
  const auto half_ns = static_cast<std::int64_t>(segment_.header().timeout_ns / 2);
  if (pressed && now_ns - pressed_since_ns_ > half_ns) drains_->hurry();
}

void Server::say_drained() {
  const DrainCount& count = *ledger_.drained();
  log_->warn(
      "session {} was killed as a whole; {} iteration{}, {} block{}, {} that it had in memory {} "
      "stored now",
      facts_.session, count.iterations, plural(count.iterations), count.blocks,
      plural(count.blocks), platform::format_bytes(count.bytes),
      ledger_.anything_lost() ? "are, as far as possible," : "are");
}

std::string Server::drained() const {
  const DrainCount& count = *ledger_.drained();
  const nlohmann::json report{{"session", facts_.session},     {"iterations", count.iterations},
                              {"blocks", count.blocks},        {"bytes", count.bytes},
                              {"lost", ledger_.lost_writes()}, {"ledger", ledger_file_.name()}};
  return report.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// An engine, as far as the turns of its stores need one, on a thread of its own. Many of them in one process make a run.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "lib/model/model.hpp"
#include "lib/os/clock.hpp"
#include "lib/shm/segment.hpp"
#include "server/driver/executors.hpp"
#include "server/state/group/turns.hpp"
#include "tests/support/memory_group.hpp"
#include "tests/support/quiet_host.hpp"

namespace leat::server::tests {

/// A store of which `max_writers` write at one time, or all where it is 0; `files` as in its option, or none.
inline model::Store turning_store(std::int64_t max_writers, const std::string& files = "") {
  model::Store store;
  store.name = "out";
  store.max_writers = max_writers;
  if (!files.empty()) store.options.push_back({"files", files, {}});
  return store;
}

struct TurningServer {
  TurningServer(comm::tests::MemoryServers& all, comm::Rank rank, const model::Store& store,
                std::uint64_t timeout_ns = 60'000'000'000)
      : model(model_with(store)),
        segment(segment_with(timeout_ns)),
        run{model, segment, {"s", all.size(), 1}, std::make_shared<QuietLog>(), executor, ""},
        rounds(run, journal),
        turns(run, rounds, [] {}) {
    rounds.begin(std::make_unique<comm::tests::MemoryGroup>(all, rank));
    engine = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        turns.look_who_is_there();
        rounds.advance();
        turns.advance();
        os::pause_shortly();
      }
    });
  }

  static model::Model model_with(const model::Store& store) {
    model::Model model;
    model.stores = {store};
    return model;
  }

  static shm::Segment segment_with(std::uint64_t timeout_ns) {
    static std::atomic<int> made_here{0};
    shm::SegmentPlan plan;
    plan.clients = 1;
    plan.data_bytes = 1 << 20;
    plan.catalogue_bytes = 4096;
    plan.timeout_ns = timeout_ns;
    const std::string name =
        "leat-test-turns-" + std::to_string(getpid()) + "-" + std::to_string(made_here++);
    Result<shm::Segment> made = shm::Segment::create(name, plan);
    if (!made) throw std::runtime_error(name + ": " + made.error().message);
    shm::Segment::remove(name);
    return std::move(*made);
  }

  model::Model model;
  shm::Segment segment;
  ThreadExecutor executor;
  SessionJournal journal;
  Run run;
  RunRounds rounds;
  Turns turns;
  std::jthread engine;
};

}  // namespace leat::server::tests

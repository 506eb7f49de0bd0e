// SPDX-License-Identifier: Apache-2.0
// The stores of several servers of a run in one process, each with an engine as far as stores need one.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "lib/model/reader.hpp"
#include "lib/model/xml/schema.hpp"
#include "lib/os/clock.hpp"
#include "server/driver/executors.hpp"
#include "server/engine/dispatcher.hpp"
#include "server/state/clients/catalogue_writer.hpp"
#include "tests/support/memory_group.hpp"
#include "tests/support/quiet_host.hpp"

namespace leat::server::tests {

inline model::Model model_of_text(const std::string& xml) {
  const model::ReadResult read = model::read_text(xml, "test.xml", model::Schema());
  EXPECT_TRUE(read.model) << model::format(read.diagnostics);
  return *read.model;
}

inline shm::Segment segment_of_stores(const model::Model& model) {
  static std::atomic<int> number{0};
  shm::SegmentPlan plan;
  plan.clients = 1;
  plan.data_bytes = 1 << 20;
  plan.catalogue_bytes = catalogue_bytes(model);
  plan.stores = static_cast<std::uint32_t>(model.stores.size());
  const std::string name =
      "leat-test-stores-" + std::to_string(getpid()) + "-" + std::to_string(number++);
  Result<shm::Segment> made = shm::Segment::create(name, plan);
  EXPECT_TRUE(made) << made.error().message;
  shm::Segment::remove(name);
  write_catalogue(model, *made);
  return std::move(*made);
}

class StoreServer {
 public:
  /// `plugins`: of the stores of the XML, in their order. The session's name ends in the server's number.
  StoreServer(comm::tests::MemoryServers& servers, comm::Rank rank, const std::string& xml,
              const std::vector<const leat_plugin*>& plugins)
      : model_(model_of_text(xml)),
        segment_(segment_of_stores(model_)),
        facts_{"stores-" + std::to_string(getpid()) + "-" + std::to_string(rank), servers.size(),
               1},
        view_(model_, facts_),
        session_({model_, segment_, facts_, log_, executor_, "."}, "", [] {}),
        dispatcher_(session_, {instances(plugins), nullptr, {}, nullptr, false, [] {}}) {
    session_.iterations.gone(0, false);  // what comes is what the test submits
    session_.rounds.begin(std::make_unique<comm::tests::MemoryGroup>(servers, rank));
    session_.reductions.look_who_is_there();
    dispatcher_.start_stores();
  }

  void submit(Iteration iteration) {
    last_ = iteration.number;
    dispatcher_.pipeline().submit(std::move(iteration));
  }
  /// It gets none up to this one.
  void pass(std::int64_t iteration) { last_ = iteration; }
  void close() { dispatcher_.pipeline().close(); }
  bool is_closed() const { return dispatcher_.is_closed(); }
  void step() {
    session_.reductions.advance(
        session_.rounds.take_awaited(),
        [this](std::uint64_t channel, std::int64_t first, std::int64_t last) {
          return last > last_ || dispatcher_.may_reduce(channel, first, last);
        });
    session_.turns.look_who_is_there();
    session_.rounds.advance();
    session_.turns.advance();
    dispatcher_.take_results();
  }

 private:
  std::vector<std::unique_ptr<PluginInstance>> instances(
      const std::vector<const leat_plugin*>& plugins) {
    std::vector<std::unique_ptr<PluginInstance>> all;
    for (const leat_plugin* const plugin : plugins)
      all.push_back(std::make_unique<PluginInstance>(
          plugin, model_, static_cast<std::uint32_t>(all.size()), view_, log_));
    return all;
  }

  model::Model model_;
  shm::Segment segment_;
  RunFacts facts_;
  PluginView view_;
  std::shared_ptr<Log> log_ = std::make_shared<QuietLog>();
  ThreadExecutor executor_;
  SessionState session_;
  Dispatcher dispatcher_;
  std::int64_t last_ = -1;
};

/// Lets all of them come to their end.
inline void end_all(const std::vector<std::unique_ptr<StoreServer>>& servers) {
  for (const auto& each : servers) each->close();
  const os::Deadline limit = os::Deadline::in_ns(60'000'000'000);
  for (bool closed = false; !closed && !limit.passed();) {
    closed = true;
    for (const auto& each : servers) {
      each->step();
      closed = closed && each->is_closed();
    }
  }
  for (const auto& each : servers) EXPECT_TRUE(each->is_closed());
}

}  // namespace leat::server::tests

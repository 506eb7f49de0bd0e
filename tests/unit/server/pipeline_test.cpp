// SPDX-License-Identifier: Apache-2.0
// The line of iterations that wait for the stores: what may be done with it while they wait.
#include "server/pipeline/pipeline.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "server/driver/executors.hpp"
#include "tests/support/quiet_host.hpp"

namespace leat::server {
namespace {

Iteration iteration(std::int64_t number, bool complete = true) {
  return Iteration{number, complete, {}, {}, {}};
}

bool any(const Iteration&) { return true; }

// A pipeline without plugins, whose thread does not run until the test says so.
struct Line {
  std::atomic<bool> closed{false};
  ThreadExecutor executor;
  Pipeline pipeline;

  explicit Line(std::int64_t count, std::vector<std::unique_ptr<PluginInstance>> plugins = {},
                std::span<shm::StoreWords> progress = {})
      : pipeline(std::move(plugins), progress, {}) {
    for (std::int64_t i = 0; i < count; ++i) pipeline.submit(iteration(i));
  }
  std::vector<std::int64_t> run() {
    pipeline.start(executor);
    pipeline.close();
    std::vector<std::int64_t> done;
    for (bool closed = false; !closed; std::this_thread::yield()) {
      for (const PipelineResult& each : pipeline.take_results()) {
        if (each.kind == PipelineResult::Kind::iteration) done.push_back(each.iteration);
        closed = closed || each.kind == PipelineResult::Kind::closed;
      }
    }
    return done;
  }
};

using Numbers = std::vector<std::int64_t>;

TEST(Pipeline, GivesTheOldestThatWaitsAwayAndPassesTheOthersOnInOrder) {
  Line line(5);
  EXPECT_EQ(line.pipeline.queue().first_number(), 0);
  EXPECT_EQ(line.pipeline.take_oldest(any)->number, 0);
  EXPECT_EQ(line.pipeline.take_oldest([](const Iteration& i) { return i.number > 2; })->number, 3);
  EXPECT_FALSE(line.pipeline.take_oldest([](const Iteration& i) { return i.number > 7; }));
  EXPECT_EQ(line.pipeline.queue().first_number(), 1);
  EXPECT_EQ(line.run(), (Numbers{1, 2, 4}));
  EXPECT_FALSE(line.pipeline.take_oldest(any));
  EXPECT_FALSE(line.pipeline.queue().first_number());
}

TEST(Pipeline, ShowsTheNewestThatWaitsAndTakesAnotherInItsPlace) {
  Line line(3);
  EXPECT_EQ(line.pipeline.queue().newest(any)->number, 2);
  EXPECT_EQ(line.pipeline.queue().newest([](const Iteration& i) { return i.number < 2; })->number,
            1);
  EXPECT_TRUE(line.pipeline.queue().replace(iteration(1, false)));
  EXPECT_FALSE(
      line.pipeline.queue().newest([](const Iteration& i) { return i.number == 1; })->complete);
  EXPECT_FALSE(line.pipeline.queue().replace(iteration(9)));
  EXPECT_EQ(line.run(), (Numbers{0, 1, 2}));
  EXPECT_FALSE(line.pipeline.queue().replace(iteration(1))) << "it waits no longer";
}

TEST(Pipeline, DoesNotTakeResultsOfScriptsForIterations) {
  Line line(0);
  line.pipeline.submit(Publication{});
  EXPECT_FALSE(line.pipeline.take_oldest(any));
  EXPECT_FALSE(line.pipeline.queue().newest(any));
  EXPECT_FALSE(line.pipeline.queue().first_number());
}

std::vector<std::uint64_t> seen_waiting;

TEST(Pipeline, TellsAPluginHowManyIterationsWaitBehindTheOneThatItGets) {
  const leat_plugin plugin{LEAT_PLUGIN_ABI,
                           sizeof plugin,
                           "counts",
                           [](const leat_run*, const leat_host*, void**) { return 0; },
                           [](void*, const leat_iteration_data* data) {
                             seen_waiting.push_back(leat_iteration_waiting(data));
                             return 0;
                           },
                           [](void*) { return 0; },
                           nullptr,
                           nullptr,
                           nullptr,
                           nullptr,
                           nullptr,
                           nullptr,
                           nullptr,
                           nullptr};
  model::Model model;
  model.layouts.emplace_back();
  model.variables.emplace_back().stores = {0};
  model.stores.emplace_back();
  const RunFacts facts;
  const PluginView view(model, facts);
  std::vector<std::unique_ptr<PluginInstance>> plugins;
  plugins.push_back(std::make_unique<PluginInstance>(&plugin, model, 0, view,
                                                     std::make_shared<tests::QuietLog>()));
  shm::StoreWords words{};
  words.done.store(-1);
  Line line(0, std::move(plugins), {&words, 1});
  for (std::int64_t i = 0; i < 4; ++i) {
    line.pipeline.submit(Iteration{i, true, {Block{}}, {}, {}});
    line.pipeline.submit(Publication{});
  }
  line.run();
  EXPECT_EQ(seen_waiting, (std::vector<std::uint64_t>{3, 2, 1, 0}));
}

TEST(Pipeline, PassesEachIterationOnOrGivesItAwayNeverBothWithManyThreadsAtIt) {
  constexpr std::int64_t kCount = 20000;
  Line line(0);
  std::atomic<bool> stop{false};
  std::vector<std::int64_t> taken;
  std::thread taker([&] {
    while (!stop) {
      if (auto oldest = line.pipeline.take_oldest([](const Iteration& i) { return i.number % 2; }))
        taken.push_back(oldest->number);
    }
  });
  std::thread replacer([&] {
    while (!stop) {
      if (auto newest = line.pipeline.queue().newest(any)) line.pipeline.queue().replace(*newest);
    }
  });
  line.pipeline.start(line.executor);
  for (std::int64_t i = 0; i < kCount; ++i) line.pipeline.submit(iteration(i));
  while (line.pipeline.queue().first_number()) std::this_thread::yield();
  stop = true;
  taker.join();
  replacer.join();
  line.pipeline.close();
  std::vector<std::int64_t> done;
  for (bool closed = false; !closed; std::this_thread::yield()) {
    for (const PipelineResult& each : line.pipeline.take_results()) {
      if (each.kind == PipelineResult::Kind::iteration) done.push_back(each.iteration);
      closed = closed || each.kind == PipelineResult::Kind::closed;
    }
  }
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  std::set<std::int64_t> all(done.begin(), done.end());
  all.insert(taken.begin(), taken.end());
  EXPECT_EQ(all.size(), static_cast<std::size_t>(kCount));
  EXPECT_EQ(done.size() + taken.size(), static_cast<std::size_t>(kCount));
}

}  // namespace
}  // namespace leat::server

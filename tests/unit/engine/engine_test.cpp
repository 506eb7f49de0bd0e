// SPDX-License-Identifier: Apache-2.0
// Whole runs in one process: clients as the library has them, an engine without a loop, a clock of
// the test's. What reaches the store is what was written.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "client-api/session/session.hpp"
#include "lib/model/reader.hpp"
#include "lib/model/xml/schema.hpp"
#include "lib/os/clock.hpp"
#include "server/driver/executors.hpp"
#include "server/driver/in_process.hpp"
#include "server/state/clients/catalogue_writer.hpp"
#include "tests/support/quiet_host.hpp"

namespace leat::server {
namespace {

constexpr std::int64_t kMs = 1'000'000;

// What a store has got: iteration and block number to its numbers.
using Stored = std::map<std::pair<std::int64_t, std::uint32_t>, std::vector<int>>;

struct Store {
  Stored stored;
  int opened = 0, closed = 0;
  std::vector<std::string> came;  // iterations and products, in order
};
std::map<std::string, Store> stores;  // by the simulation's name

int open_store(const leat_run* run, const leat_host*, void** state) {
  Store& store = stores[run->simulation];
  ++store.opened;
  *state = &store;
  return 0;
}

int take_iteration(void* state, const leat_iteration_data* data) {
  static_cast<Store*>(state)->came.push_back(std::to_string(data->iteration));
  for (std::uint64_t i = 0; i < data->block_count; ++i) {
    const leat_block& block = *leat_block_at(data, i);
    const int* const numbers = static_cast<const int*>(block.data);
    static_cast<Store*>(state)->stored[{data->iteration, static_cast<std::uint32_t>(block.rank)}] =
        {numbers, numbers + block.bytes / sizeof(int)};
  }
  return 0;
}

int take_results(void* state, const leat_result_set* set) {
  for (std::uint64_t i = 0; i < set->result_count; ++i) {
    const leat_result& each = *leat_result_at(set, i);
    static_cast<Store*>(state)->came.push_back(
        std::to_string(set->iteration) + " " + set->source + "/" + each.name + " " +
        std::to_string(*static_cast<const std::int64_t*>(each.data)));
  }
  return 0;
}

int close_store(void* state) {
  ++static_cast<Store*>(state)->closed;
  return 0;
}

const leat_plugin kStore{LEAT_PLUGIN_ABI, sizeof(leat_plugin),
                         "test",          open_store,
                         take_iteration,  close_store,
                         take_results,    nullptr,
                         nullptr,         nullptr,
                         nullptr,         nullptr,
                         nullptr,         nullptr};

model::Model model_of(const std::string& name) {
  const std::string xml = "<simulation name=\"" + name + R"(">
    <architecture><dedicated cores="1"/><buffer size="4MiB" timeout="4s"/></architecture>
    <data><layout name="row" type="int" dimensions="5"/><variable name="a" layout="row"/></data>
    <storage><store name="out" type="trace"/></storage></simulation>)";
  const model::ReadResult read = model::read_text(xml, "test.xml", model::Schema());
  EXPECT_TRUE(read.model) << model::format(read.diagnostics);
  return *read.model;
}

shm::Segment segment_of(const model::Model& model, std::uint32_t ranks) {
  shm::SegmentPlan plan;
  plan.clients = ranks;
  plan.data_bytes = model.architecture.buffer_bytes;
  plan.timeout_ns = static_cast<std::uint64_t>(model.architecture.timeout_seconds * 1e9);
  plan.catalogue_bytes = catalogue_bytes(model);
  plan.stores = 1;
  const std::string name = "leat-test-" + model.name + "-" + std::to_string(getpid());
  Result<shm::Segment> made = shm::Segment::create(name, plan);
  EXPECT_TRUE(made) << made.error().message;
  shm::Segment::remove(name);
  write_catalogue(model, *made);
  return std::move(*made);
}

std::vector<int> row_of(std::int64_t iteration, int rank) {
  std::vector<int> row(5);
  for (int i = 0; i < 5; ++i)
    row[static_cast<std::size_t>(i)] = static_cast<int>(iteration) * 100 + rank * 10 + i;
  return row;
}

class NotingExecutor final : public Executor {
 public:
  std::jthread run(const char* name, Urgency urgency, std::function<void()> work) override {
    names.emplace_back(name);
    return threads_.run(name, urgency, std::move(work));
  }
  std::vector<std::string> names;

 private:
  ThreadExecutor threads_;
};

struct OwnFolder {
  OwnFolder() { EXPECT_NE(mkdtemp(path), nullptr); }
  OwnFolder(const OwnFolder&) = delete;
  ~OwnFolder() { std::filesystem::remove_all(path); }
  char path[32] = "/tmp/leat-engine-XXXXXX";
};

// One run: its engine, and its ranks as they attach. What it leaves is in `folder`, or goes with it.
class WholeRun {
 public:
  WholeRun(const std::string& name, int ranks, const std::string& folder = "")
      : model_(model_of(name)),
        segment_(segment_of(model_, static_cast<std::uint32_t>(ranks))),
        facts_{name, ranks, ranks},
        view_(model_, facts_),
        host_(segment_, [this] { return now_ns_ += kMs / 1000; }) {
    stores[name] = {};
    const auto log = std::make_shared<tests::QuietLog>();
    EngineParts parts{model_,
                      segment_,
                      facts_,
                      host_,
                      log,
                      executor_,
                      folder.empty() ? own_folder_.path : folder};
    parts.plugins.push_back(std::make_unique<PluginInstance>(&kStore, model_, 0, view_, log));
    parts.has_memory = true;
    engine_ = std::make_unique<Engine>(std::move(parts));
    host_.host(*engine_);
  }

  void attach(int rank) {
    auto server = host_.attach(tests::hello_of(rank, facts_.ranks));
    ASSERT_TRUE(server) << server.error().message;
    client::ServerStart start;
    start.ranks = {rank, facts_.ranks, rank, facts_.ranks, facts_.session};
    ranks_[rank] = client::Session::join(start, {std::move(*server), segment_.name(), {}, 0, rank},
                                         segment_.share());
  }
  void write_and_end(int rank, std::int64_t iteration) {
    client::Lock lock(mutex_);
    client::Call call{"test", lock};
    EXPECT_EQ(ranks_[rank]->blocks().write(call, "a", 0, row_of(iteration, rank).data()),
              Status::OK);
    EXPECT_EQ(ranks_[rank]->end_iteration(call), Status::OK);
  }
  /// What a staging node does for a node whose plugin has made a number.
  client::ProductWriter::Place publish(int rank, std::int64_t iteration, std::int64_t number,
                                       std::string head = "") {
    if (head.empty())
      head =
          R"({"source":"s@)" + std::to_string(rank) + R"(","iteration":)" +
          std::to_string(iteration) +
          R"(,"arrays":[{"name":"p","type":"int64","dimensions":[],"extents":[],"offset":0,"bytes":8}]})";
    head.resize((head.size() + 63) / 64 * 64, ' ');
    client::Lock lock(mutex_);
    client::Call call{"test", lock};
    client::ProductWriter& products = ranks_[rank]->products();
    void* data = nullptr;
    EXPECT_EQ(products.alloc(call, head, sizeof number, &data), Status::OK);
    if (!data) return {};
    std::memcpy(data, &number, sizeof number);
    client::ProductWriter::Place place;
    EXPECT_EQ(products.commit(call, data, &place), Status::OK);
    return place;
  }
  bool is_through(int rank, const client::ProductWriter::Place& place) {
    return ranks_[rank]->products().is_through(place);
  }
  Status finalize(int rank) {
    detach(rank);
    return ranks_[rank]->await_drained("test");
  }
  void detach(int rank) {
    client::Lock lock(mutex_);
    client::Call call{"test", lock};
    ranks_[rank]->detach(call);
  }
  /// Its connection ends, as of a process that is killed.
  void die(int rank) { ranks_[rank].reset(); }

  void pass_time(std::int64_t ns) {
    now_ns_ += ns;
    host_.step();
  }
  Engine& engine() { return *engine_; }
  const std::vector<std::string>& threads() const { return executor_.names; }
  InProcess& host() { return host_; }
  const Store& store() const { return stores[facts_.session]; }
  std::int64_t now_ns() const { return now_ns_; }

 private:
  OwnFolder own_folder_;
  model::Model model_;
  shm::Segment segment_;
  RunFacts facts_;
  PluginView view_;
  std::int64_t now_ns_ = 1;
  InProcess host_;
  NotingExecutor executor_;
  std::unique_ptr<Engine> engine_;
  std::mutex mutex_;
  std::map<int, std::unique_ptr<client::Session>> ranks_;
};

Stored all_of(std::int64_t iterations, int ranks) {
  Stored all;
  for (std::int64_t i = 0; i < iterations; ++i) {
    for (int rank = 0; rank < ranks; ++rank)
      all[{i, static_cast<std::uint32_t>(rank)}] = row_of(i, rank);
  }
  return all;
}

TEST(Engine, StoresWhatARankOfItsOwnProcessWritesWithoutSocketAndSecondMapping) {
  WholeRun run("alone", 1);
  run.attach(0);
  for (std::int64_t i = 0; i < 300; ++i) run.write_and_end(0, i);
  EXPECT_EQ(run.finalize(0), Status::OK);
  EXPECT_EQ(run.host().status(), 0);
  EXPECT_EQ(run.store().stored, all_of(300, 1));
  EXPECT_EQ(run.store().closed, 1);
}

TEST(Engine, RunsTwiceInOneProcessAtTheSameTime) {
  WholeRun left("left", 2), right("right", 1);
  for (const int rank : {0, 1}) left.attach(rank);
  right.attach(0);
  for (std::int64_t i = 0; i < 20; ++i) {
    left.write_and_end(0, i);
    right.write_and_end(0, i);
    left.write_and_end(1, i);
  }
  left.detach(0);
  EXPECT_EQ(left.finalize(1), Status::OK);
  // The other one goes on.
  for (std::int64_t i = 20; i < 40; ++i) right.write_and_end(0, i);
  EXPECT_EQ(right.host().status(), -1);
  EXPECT_EQ(right.finalize(0), Status::OK);
  EXPECT_EQ(left.store().stored, all_of(20, 2));
  EXPECT_EQ(right.store().stored, all_of(40, 1));
}

TEST(Engine, StoresWhatADeadRankHandedOver) {
  WholeRun run("dead", 2);
  for (const int rank : {0, 1}) run.attach(rank);
  for (const int rank : {0, 1}) run.write_and_end(rank, 0);
  run.write_and_end(0, 1);
  run.die(1);
  EXPECT_EQ(run.finalize(0), Status::OK);
  Stored expected = all_of(2, 2);
  expected.erase({1, 1});
  EXPECT_EQ(run.store().stored, expected);
  EXPECT_EQ(run.host().status(), 3) << "all is stored, but a rank died";
}

TEST(Engine, GivesUpARankThatNeverComesByItsOwnClock) {
  WholeRun run("absent", 2);
  run.attach(0);
  run.write_and_end(0, 0);
  run.detach(0);
  EXPECT_NE(run.engine().next_deadline_ns(), Engine::kNever) << "it waits for somebody";
  for (int i = 0; i < 5; ++i) run.pass_time(500 * kMs);
  EXPECT_FALSE(run.engine().status().all_gone) << "2.5 s, three quarters of the timeout are 3 s";
  for (int i = 0; i < 3; ++i) run.pass_time(500 * kMs);
  EXPECT_TRUE(run.engine().status().all_gone);
}

TEST(Engine, WritesIntoItsOwnFolderBesideAnotherOneOfItsName) {
  const std::filesystem::path folder =
      testing::TempDir() + "leat-engine-" + std::to_string(getpid());
  for (const char* part : {"left", "right"}) std::filesystem::create_directories(folder / part);
  WholeRun left("same", 1, folder / "left"), right("same", 1, folder / "right");
  for (WholeRun* run : {&left, &right}) {
    run->engine().open_ledger();
    run->attach(0);
    EXPECT_EQ(run->finalize(0), Status::OK);
  }
  for (const char* part : {"left", "right"})
    EXPECT_TRUE(std::filesystem::exists(folder / part / "same.ledger.json")) << part;
  std::filesystem::remove_all(folder);
}

TEST(Engine, HasNoThreadsButThoseOfItsExecutor) {
  const auto threads = [] {
    const std::filesystem::directory_iterator all("/proc/self/task");
    return std::distance(begin(all), end(all));
  };
  const auto before = threads();
  WholeRun run("threads", 1);
  EXPECT_EQ(run.threads(), std::vector<std::string>{"leat stores"});
  EXPECT_EQ(threads(), before + 1);
}

TEST(Engine, PassesOnWhatARankPublishesBehindItsIteration) {
  WholeRun run("published", 2);
  for (const int rank : {0, 1}) run.attach(rank);
  run.write_and_end(0, 0);
  const client::ProductWriter::Place place = run.publish(0, 0, 7);
  run.pass_time(kMs);  // the other rank has yet to end it
  EXPECT_FALSE(run.is_through(0, place));
  run.write_and_end(1, 0);
  run.publish(1, 0, 8);
  run.detach(0);
  EXPECT_EQ(run.finalize(1), Status::OK);
  EXPECT_EQ(run.store().came, (std::vector<std::string>{"0", "0 s@0/p 7", "0 s@1/p 8"}));
  EXPECT_TRUE(run.is_through(0, place)) << "its memory is free";
  EXPECT_EQ(run.host().status(), 0);
}

TEST(Engine, WaitsForNoIterationThatTheRankWhichPublishesHasNotEnded) {
  WholeRun run("ahead", 2);
  for (const int rank : {0, 1}) run.attach(rank);
  const client::ProductWriter::Place place = run.publish(0, 3, 7);
  for (int i = 0; i < 10'000 && !run.is_through(0, place); ++i) {
    run.pass_time(kMs);
    os::pause_shortly();  // stores have a thread of their own
  }
  EXPECT_TRUE(run.is_through(0, place));
  for (const int rank : {0, 1}) run.write_and_end(rank, 0);
  run.detach(0);
  EXPECT_EQ(run.finalize(1), Status::OK);
  EXPECT_EQ(run.store().came, (std::vector<std::string>{"3 s@0/p 7", "0"}));
}

TEST(Engine, PassesOnWhatIsPublishedAfterTheLastIterationOrByARankThatDies) {
  WholeRun run("late", 2);
  for (const int rank : {0, 1}) run.attach(rank);
  run.write_and_end(0, 0);
  run.publish(0, 0, 7);
  run.die(0);
  run.write_and_end(1, 0);
  run.write_and_end(1, 1);
  run.publish(1, 0, 8);
  EXPECT_EQ(run.finalize(1), Status::OK);
  ASSERT_EQ(run.store().came.size(), 4u);
  std::vector<std::string> came = run.store().came;
  std::sort(came.begin(), came.end());
  EXPECT_EQ(came, (std::vector<std::string>{"0", "0 s@0/p 7", "0 s@1/p 8", "1"}));
}

TEST(Engine, RefusesProductsThatMakeNoSenseAndSaysThatTheyAreLost) {
  WholeRun run("senseless", 1);
  run.attach(0);
  const client::ProductWriter::Place place = run.publish(0, 0, 7, R"({"source":"a/b"})");
  run.write_and_end(0, 0);
  EXPECT_EQ(run.finalize(0), Status::ERROR_LOST);
  EXPECT_TRUE(run.is_through(0, place)) << "its memory is free";
  EXPECT_EQ(run.store().came, (std::vector<std::string>{"0"}));
}

TEST(Engine, TakesNothingMoreWhenItIsDrained) {
  WholeRun run("drained", 1);
  run.attach(0);
  run.write_and_end(0, 0);
  run.engine().drain(run.now_ns(), "the test");
  EXPECT_TRUE(run.engine().status().all_gone);
  while (run.host().status() < 0) run.pass_time(kMs);
  EXPECT_EQ(run.store().stored, all_of(1, 1));
}

}  // namespace
}  // namespace leat::server

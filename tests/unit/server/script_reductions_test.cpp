// SPDX-License-Identifier: Apache-2.0
// Scripts of several servers in one process that reduce together, in real workers: each gets its outcome, whatever becomes of the
// others.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lib/model/reader.hpp"
#include "lib/model/xml/schema.hpp"
#include "server/driver/executors.hpp"
#include "server/workers/script_pool.hpp"
#include "tests/support/memory_group.hpp"
#include "tests/support/quiet_host.hpp"
#include "tests/unit/server/steered_run.hpp"

namespace leat::server {
namespace {

namespace fs = std::filesystem;
using comm::tests::MemoryGroup;
using comm::tests::MemoryServers;

constexpr auto kTestLimit = std::chrono::seconds(60);
constexpr comm::Rank kScriptServers = 3;

class LogOfLines final : public Log {
 public:
  LogOfLines() : Log(LogLevel::info) {}
  std::string text() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return text_;
  }

 private:
  void put(LogLevel, const std::string& text) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    text_ += text + "\n";
  }
  mutable std::mutex mutex_;
  std::string text_;
};

model::Model scripts_model(const fs::path& folder, const std::string& more) {
  const std::string xml =
      R"(<simulation name="reduce"><architecture><buffer size="4MiB"/></architecture>
    <data><layout name="row" type="int" dimensions="5"/><variable name="a" layout="row"/></data>
    <scripts interpreter=")" LEAT_TEST_PYTHON R"("><folder path=")" +
      (folder / "analysis").string() + "\" when-slow=\"wait\" " + more +
      "/></scripts></simulation>";
  const model::ReadResult read = model::read_text(xml, "test.xml", model::Schema());
  EXPECT_TRUE(read.model) << model::format(read.diagnostics);
  return *read.model;
}

// An engine as far as scripts need one. Its numbers: {iteration: {name: value}}.
class ScriptServer {
 public:
  using Numbers = std::map<std::int64_t, std::map<std::string, double>>;

  ScriptServer(MemoryServers& servers, comm::Rank rank, fs::path folder, const std::string& code,
               const std::string& more)
      : folder_((write(folder, code), std::move(folder))),
        model_(scripts_model(folder_, more)),
        segment_(steered_segment(1)),
        run_{model_, segment_, facts(rank), log_, executor_, folder_.string()},
        rounds_(run_, journal_),
        reductions_(rounds_, [] {}) {
    rounds_.begin(std::make_unique<MemoryGroup>(servers, rank));
    reductions_.look_who_is_there();
    pool_ = std::make_unique<ScriptPool>(
        run_, reductions_, [this](const Publication& made) { take(made); }, [] {});
    pool_->start();
    steps_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        step();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
  }
  ~ScriptServer() {
    pool_->abandon();
    pool_.reset();
  }

  // As when the simulation has ended it.
  void submit(std::int64_t iteration) {
    Iteration its;
    its.number = iteration;
    pool_->submit(its);
    last_ = iteration;
  }
  void await_end() {
    const auto until = std::chrono::steady_clock::now() + kTestLimit;
    while (!pool_->idle() && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_TRUE(pool_->idle()) << log();
  }
  Numbers numbers() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return numbers_;
  }
  std::string log() const { return log_->text(); }

 private:
  static void write(const fs::path& folder, const std::string& code) {
    fs::create_directories(folder / "analysis");
    std::ofstream(folder / "analysis" / "it.py") << code;
  }
  static RunFacts facts(comm::Rank rank) {
    RunFacts facts;
    facts.session = "reduce-" + std::to_string(getpid()) + "-" + std::to_string(rank);
    facts.ranks = kScriptServers;
    return facts;
  }
  void step() {
    reductions_.advance(rounds_.take_awaited(),
                        [this](std::uint64_t channel, std::int64_t first, std::int64_t last) {
                          return last > last_ || pool_->may_reduce(channel, first, last);
                        });
    rounds_.advance();
  }
  void take(const Publication& made) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const Product& each : made.products)
      numbers_[made.iteration][each.name] =
          each.type == ScalarType::int64
              ? static_cast<double>(*static_cast<const std::int64_t*>(each.data))
              : *static_cast<const double*>(each.data);
  }

  fs::path folder_;
  model::Model model_;
  shm::Segment segment_;
  ThreadExecutor executor_;
  SessionJournal journal_;
  std::shared_ptr<LogOfLines> log_ = std::make_shared<LogOfLines>();
  Run run_;
  RunRounds rounds_;
  Reductions reductions_;
  std::unique_ptr<ScriptPool> pool_;
  std::atomic<std::int64_t> last_{-1};
  mutable std::mutex mutex_;
  Numbers numbers_;
  std::jthread steps_;
};

class ScriptReductionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override {
    all_.clear();
    fs::remove_all(folder_);
  }
  // `code`: the body of f(ds, ctx), the same for all.
  void start(const std::string& code, const std::string& more = "") {
    const std::string head =
        "import leat, numpy as np\n@leat.on_iteration(variables=[])\ndef f(ds, ctx):\n";
    for (comm::Rank rank = 0; rank < kScriptServers; ++rank)
      all_.push_back(std::make_unique<ScriptServer>(servers_, rank, folder_ / std::to_string(rank),
                                                    head + code, more));
  }
  void submit_all(std::int64_t iterations) {
    for (std::int64_t i = 0; i < iterations; ++i)
      for (const auto& each : all_) each->submit(i);
  }
  void await_all() {
    for (const auto& each : all_) each->await_end();
  }
  double number(std::size_t server, std::int64_t iteration, const std::string& name) {
    const auto numbers = all_[server]->numbers();
    if (numbers.count(iteration) == 0 || numbers.at(iteration).count(name) == 0) return -1;
    return numbers.at(iteration).at(name);
  }

  fs::path folder_ = fs::temp_directory_path() / ("leat-reduce-" + std::to_string(getpid()));
  MemoryServers servers_{kScriptServers};
  std::vector<std::unique_ptr<ScriptServer>> all_;
};

TEST_F(ScriptReductionsTest, all_servers_have_the_same_outcome) {
  start(
      "    ctx.scalar('sum', ctx.reduce([np.array([1e16, 1.0, -1e16]) * (ctx.server + 1)], "
      "'sum'))\n"
      "    ctx.scalar('most', ctx.reduce(ctx.server, 'max'))\n"
      "    ctx.scalar('array', int(ctx.reduce(np.array([ctx.server, 7]), 'sum').tolist() == [3, "
      "21]))\n"
      "    ctx.scalar('gathered', int(ctx.gather([ctx.server]) == [[0], [1], [2]]))\n"
      "    ctx.scalar('first', int(ctx.is_first))\n"
      "    ctx.scalar('missing', ctx.servers_missing + ctx.servers)\n");
  submit_all(5);
  await_all();
  for (std::size_t server = 0; server < 3; ++server) {
    for (std::int64_t i = 0; i < 5; ++i) {
      EXPECT_EQ(6, number(server, i, "sum")) << all_[server]->log();
      EXPECT_EQ(2, number(server, i, "most"));
      EXPECT_EQ(1, number(server, i, "array"));
      EXPECT_EQ(1, number(server, i, "gathered"));
      EXPECT_EQ(server == 0 ? 1 : 0, number(server, i, "first"));
      EXPECT_EQ(3, number(server, i, "missing"));
    }
  }
}

TEST_F(ScriptReductionsTest, a_script_that_fails_on_one_server_keeps_no_other_waiting) {
  start(
      "    if ctx.iteration == 1 and ctx.server == 2:\n"
      "        raise ValueError('here alone')\n"
      "    ctx.scalar('sum', ctx.reduce(ctx.server + 1, 'sum'))\n"
      "    ctx.scalar('missing', ctx.servers_missing)\n");
  submit_all(3);
  await_all();
  EXPECT_EQ(6, number(0, 0, "sum"));
  EXPECT_EQ(3, number(0, 1, "sum")) << all_[0]->log();
  EXPECT_EQ(1, number(0, 1, "missing"));
  EXPECT_EQ(-1, number(2, 1, "sum"));
  EXPECT_EQ(6, number(2, 2, "sum"));
  EXPECT_NE(std::string::npos, all_[0]->log().find("1 of 3 servers gave nothing"));
}

TEST_F(ScriptReductionsTest, an_iteration_that_a_server_has_not_is_of_the_others) {
  start("    ctx.scalar('sum', ctx.reduce(ctx.server + 1, 'sum'))\n");
  for (const auto& each : all_) each->submit(0);
  for (const std::size_t server : {0, 1}) all_[server]->submit(1);
  for (const auto& each : all_) each->submit(2);
  await_all();
  EXPECT_EQ(6, number(0, 0, "sum")) << all_[0]->log();
  EXPECT_EQ(3, number(1, 1, "sum"));
  EXPECT_EQ(6, number(1, 2, "sum"));
}

TEST_F(ScriptReductionsTest, what_does_not_fit_is_an_error_where_it_was_given) {
  start(
      "    shape = 3 if ctx.iteration == 1 and ctx.server == 2 else 2\n"
      "    ctx.scalar('sum', ctx.reduce(np.ones(shape), 'sum')[0])\n"
      "    wide = (1, 4) if ctx.iteration == 2 and ctx.server == 2 else (2, 2)\n"
      "    ctx.scalar('wide', ctx.reduce(np.ones(wide), 'sum')[0, 0])\n");
  submit_all(4);
  await_all();
  EXPECT_EQ(2, number(0, 1, "sum")) << all_[0]->log();
  EXPECT_EQ(2, number(0, 1, "wide")) << "the one that failed gives nothing any more";
  EXPECT_EQ(-1, number(2, 1, "sum"));
  EXPECT_NE(std::string::npos, all_[2]->log().find("an array of another shape or type"));
  EXPECT_EQ(-1, number(0, 2, "wide")) << "of as many numbers: all are told";
  EXPECT_EQ(3, number(2, 3, "wide"));
}

TEST_F(ScriptReductionsTest, a_server_without_blocks_reduces_with_the_others) {
  start(
      "    mine = [np.full(4, 3 + ctx.server)] if ctx.server != 1 else []\n"
      "    ctx.scalar('sum', ctx.reduce(mine, 'sum'))\n"
      "    ctx.scalar('least', ctx.reduce(mine, 'min'))\n"
      "    ctx.scalar('mean', ctx.reduce(mine, 'mean'))\n"
      "    ctx.scalar('none', ctx.reduce([], 'sum') + ctx.reduce(np.empty((0, 2)), 'sum').size)\n"
      "    ctx.scalar('whole', int(isinstance(ctx.reduce(mine, 'max'), np.int64)))\n");
  submit_all(1);
  await_all();
  for (std::size_t server = 0; server < 3; ++server) {
    EXPECT_EQ(32, number(server, 0, "sum")) << all_[server]->log();
    EXPECT_EQ(3, number(server, 0, "least"));
    EXPECT_EQ(4, number(server, 0, "mean"));
    EXPECT_EQ(0, number(server, 0, "none"));
    EXPECT_EQ(1, number(server, 0, "whole"));
  }
}

TEST_F(ScriptReductionsTest, a_server_that_dies_is_not_waited_for) {
  start("    ctx.scalar('sum', ctx.reduce(ctx.server + 1, 'sum'))\n");
  for (const std::size_t server : {0, 1}) all_[server]->submit(0);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_EQ(-1, number(0, 0, "sum"));
  servers_.die(2);
  for (const std::size_t server : {0, 1}) all_[server]->await_end();
  EXPECT_EQ(3, number(0, 0, "sum")) << all_[0]->log();
}

TEST_F(ScriptReductionsTest, the_wait_ends_before_the_scripts_own_time_does) {
  start(
      "    try:\n"
      "        ctx.reduce(1, 'sum')\n"
      "    except TimeoutError as why:\n"
      "        ctx.scalar('late', 1)\n"
      "        print(why)\n",
      "timeout=\"2s\"");
  all_[0]->submit(0);
  all_[0]->await_end();
  EXPECT_EQ(1, number(0, 0, "late")) << all_[0]->log();
  EXPECT_NE(std::string::npos,
            all_[0]->log().find("have not all come to iteration 0 within the 2 s"));
}

}  // namespace
}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// Stores that may leave iterations out: what they get, what they leave, and who waits for them.
// Nothing is decided by time: stores go on when the test, or another store, lets them.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "server/driver/executors.hpp"
#include "server/pipeline/pipeline.hpp"
#include "tests/support/quiet_host.hpp"

namespace leat::server {
namespace {

// What a store has begun, and how far it may go. The two kinds are two plugins.
struct Gate {
  std::mutex mutex;
  std::vector<std::int64_t> begun;
  std::atomic<std::int64_t> opened{-1};  // up to this iteration

  void pass(std::int64_t iteration) {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      begun.push_back(iteration);
    }
    while (opened < iteration) std::this_thread::yield();
  }
  std::vector<std::int64_t> seen() {
    const std::lock_guard<std::mutex> lock(mutex);
    return begun;
  }
  void await(std::int64_t iteration) {
    while (seen().empty() || seen().back() < iteration) std::this_thread::yield();
  }
};
std::unique_ptr<Gate> side, other;

int open_it(const leat_run*, const leat_host*, void**) { return 0; }
int close_it(void*) { return 0; }

const leat_plugin kSide{LEAT_PLUGIN_ABI,
                        sizeof(leat_plugin),
                        "side",
                        open_it,
                        [](void*, const leat_iteration_data* data) {
                          side->pass(data->iteration);
                          return 0;
                        },
                        close_it,
                        nullptr,
                        nullptr,
                        nullptr,
                        nullptr,
                        nullptr,
                        nullptr,
                        nullptr,
                        nullptr};
const leat_plugin kOther{LEAT_PLUGIN_ABI,
                         sizeof(leat_plugin),
                         "other",
                         open_it,
                         [](void*, const leat_iteration_data* data) {
                           other->pass(data->iteration);
                           return 0;
                         },
                         close_it,
                         nullptr,
                         nullptr,
                         nullptr,
                         nullptr,
                         nullptr,
                         nullptr,
                         nullptr,
                         nullptr};

// Stores "side", which may leave iterations out, and "other", of one variable.
class SideStoresOfAPipeline : public testing::Test {
 protected:
  SideStoresOfAPipeline() {
    side = std::make_unique<Gate>();
    other = std::make_unique<Gate>();
    model_.layouts.emplace_back();
    model_.variables.emplace_back().stores = {0, 1};
    model_.stores.emplace_back().name = "side";
    model_.stores.back().waits = false;
    model_.stores.emplace_back().name = "other";
    for (shm::StoreWords& each : words_) each.done = each.begun = -1;
  }
  ~SideStoresOfAPipeline() override { side->opened = other->opened = INT64_MAX; }

  void start(const leat_plugin& second = kOther) {
    view_ = std::make_unique<PluginView>(model_, facts_);
    std::vector<std::unique_ptr<PluginInstance>> plugins;
    for (const leat_plugin* plugin : {&kSide, &second})
      plugins.push_back(std::make_unique<PluginInstance>(
          plugin, model_, static_cast<std::uint32_t>(plugins.size()), *view_,
          std::make_shared<tests::QuietLog>()));
    pipeline_ = std::make_unique<Pipeline>(std::move(plugins), words_, Pipeline::Hooks{});
    pipeline_->start(executor_);
  }
  void submit(std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i <= last; ++i)
      pipeline_->submit(Iteration{i, true, {Block{}}, {}, {}});
  }
  // "0 side late, 1 side skipped, ..." as it was said.
  std::map<std::string, std::string> end() {
    pipeline_->close();
    std::map<std::string, std::string> fates;
    for (bool closed = false; !closed; std::this_thread::yield()) {
      for (const PipelineResult& result : pipeline_->take_results()) {
        closed |= result.kind == PipelineResult::Kind::closed;
        const bool is_late = result.kind == PipelineResult::Kind::late;
        if (!is_late && result.kind != PipelineResult::Kind::iteration) continue;
        for (const StoreOutcome& each : result.outcomes)
          fates[std::to_string(result.iteration) + " " + each.store] += each.skipped ? "skipped"
                                                                        : is_late    ? "late"
                                                                                     : "stored";
      }
    }
    EXPECT_FALSE(pipeline_->is_busy());
    return fates;
  }

  model::Model model_;
  const RunFacts facts_{};
  shm::StoreWords words_[2]{};
  ThreadExecutor executor_;
  std::unique_ptr<PluginView> view_;
  std::unique_ptr<Pipeline> pipeline_;
};

using Numbers = std::vector<std::int64_t>;
using Fates = std::map<std::string, std::string>;

TEST_F(SideStoresOfAPipeline, LeaveOutWhatOthersWaitBehindAndGetTheLastWhileTheOthersGetAll) {
  other->opened = INT64_MAX;
  start();
  submit(0, 0);
  side->await(0);
  submit(1, 3);
  other->await(3);
  EXPECT_EQ(other->seen(), (Numbers{0, 1, 2, 3})) << "while the slow one works on 0";
  side->opened = INT64_MAX;
  EXPECT_EQ(end(), (Fates{{"0 other", "stored"},
                          {"0 side", "late"},
                          {"1 other", "stored"},
                          {"1 side", "skipped"},
                          {"2 other", "stored"},
                          {"2 side", "skipped"},
                          {"3 other", "stored"},
                          {"3 side", "stored"}}));
  EXPECT_EQ(side->seen(), (Numbers{0, 3}));
  EXPECT_EQ(words_[0].done.load(), 3);
}

TEST_F(SideStoresOfAPipeline, LeaveNothingOutWhileItIsAnotherOneThatIsSlow) {
  side->opened = INT64_MAX;
  start();
  submit(0, 4);
  for (std::int64_t i = 0; i <= 4; ++i) {
    other->await(i);
    side->await(i);  // it has begun each before the other one is done with it
    other->opened = i;
  }
  const Fates fates = end();
  EXPECT_EQ(side->seen(), (Numbers{0, 1, 2, 3, 4}));
  for (const auto& [what, fate] : fates) EXPECT_NE(fate, "skipped") << what;
}

TEST_F(SideStoresOfAPipeline, LeaveNothingOutThatComesWhileTheyAreFree) {
  other->opened = INT64_MAX;
  start();
  for (std::int64_t i = 0; i < 200; i += 2) {
    submit(i, i + 1);  // its thread may not be awake when the other one is done with the first
    side->await(i);
    side->opened = i + 1;
    side->await(i + 1);
    while (pipeline_->is_busy()) pipeline_->take_results();
  }
  EXPECT_EQ(side->seen().size(), 200u);
  end();
}

TEST_F(SideStoresOfAPipeline, AreAwaitedAsTheOthersAreWhenTheOthersAreOfTheSamePlugin) {
  start(kSide);
  submit(0, 2);
  side->opened = INT64_MAX;
  for (const auto& [what, fate] : end()) EXPECT_EQ(fate, "stored") << what;
  EXPECT_EQ(side->seen(), (Numbers{0, 0, 1, 1, 2, 2}));
}

TEST_F(SideStoresOfAPipeline, DoNotGetFromASuccessorWhatTheyHaveLeftOut) {
  other->opened = side->opened = INT64_MAX;
  words_[0].skipped[7] = 1 + 1;
  start();
  submit(1, 1);
  EXPECT_EQ(end(), (Fates{{"1 other", "stored"}, {"1 side", "skipped"}}));
  EXPECT_EQ(side->seen(), Numbers());
}

TEST_F(SideStoresOfAPipeline, LeaveNoMoreOutThanASuccessorCanBeToldOf) {
  constexpr auto kKept = static_cast<std::int64_t>(shm::kSkippedKept);
  other->opened = INT64_MAX;
  start();
  submit(0, 0);
  side->await(0);
  submit(1, kKept + 3);
  other->await(kKept + 1);
  const auto is_known = [&](std::int64_t iteration) {
    return std::any_of(std::begin(words_[0].skipped), std::end(words_[0].skipped),
                       [&](const auto& word) { return word.load() == 1 + iteration; });
  };
  for (std::int64_t i = 1; i <= kKept; ++i) EXPECT_TRUE(is_known(i)) << i;
  EXPECT_EQ(words_[0].done.load(), -1) << "it still has iteration 0";
  for (const auto& store : pipeline_->stores()) store->settled(2);  // it is in the ledger
  pipeline_->queue().nudge();
  other->await(kKept + 3);
  EXPECT_FALSE(is_known(1));
  EXPECT_TRUE(is_known(3));
  EXPECT_EQ(words_[0].done.load(), -1);
  side->opened = INT64_MAX;
  EXPECT_EQ(end()[std::to_string(kKept + 3) + " side"], "stored");
}

}  // namespace
}  // namespace leat::server

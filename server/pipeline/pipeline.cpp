// SPDX-License-Identifier: Apache-2.0
#include "server/pipeline/pipeline.hpp"

#include <exception>

#include "lib/platform/clock.hpp"
#include "server/pipeline/crash_note.hpp"
#include "server/spill/spilled_blocks.hpp"

namespace leat::server {
namespace {

// With one iteration. Servers are killed for reasons that have nothing to do with what they do;
// a crash in the store's own code is its own.
constexpr std::uint32_t kMostTries = 8, kMostCrashes = 2;

}  // namespace

Pipeline::Pipeline(std::vector<std::unique_ptr<PluginInstance>> plugins,
                   std::span<shm::StoreWords> progress, std::function<void()> wake)
    : plugins_(std::move(plugins)), progress_(progress), wake_(std::move(wake)) {}

void Pipeline::start(Executor& executor, std::int32_t first_rank, std::function<void()> first) {
  for (const auto& plugin : plugins_) plugin->set_first_rank(first_rank);
  ++unfinished_;
  thread_ = executor.run("leat stores", Executor::Urgency::behind_others,
                         [this, first = std::move(first)] { run(first); });
}

void Pipeline::submit(Work work) {
  ++unfinished_;
  const std::lock_guard<std::mutex> lock(mutex_);
  waiting_.push_back(std::move(work));
  changed_.notify_one();
}

void Pipeline::close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  closing_ = true;
  changed_.notify_one();
}

std::vector<PipelineResult> Pipeline::take_results() {
  if (!has_results()) return {};
  const std::lock_guard<std::mutex> lock(mutex_);
  has_results_.store(false, std::memory_order_relaxed);
  unfinished_ -= static_cast<std::int64_t>(results_.size());
  return std::exchange(results_, {});
}

std::optional<Iteration> Pipeline::take_oldest(const Which& which) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto each = waiting_.begin(); each != waiting_.end(); ++each) {
    auto* const iteration = std::get_if<Iteration>(&*each);
    if (!iteration || !which(*iteration)) continue;
    std::optional<Iteration> taken = std::move(*iteration);
    waiting_.erase(each);
    --unfinished_;
    return taken;
  }
  return std::nullopt;
}

std::optional<Iteration> Pipeline::newest(const Which& which) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto each = waiting_.rbegin(); each != waiting_.rend(); ++each) {
    const auto* const iteration = std::get_if<Iteration>(&*each);
    if (iteration && which(*iteration)) return *iteration;
  }
  return std::nullopt;
}

bool Pipeline::replace(Iteration iteration) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto& each : waiting_) {
    auto* const old = std::get_if<Iteration>(&each);
    if (!old || old->number != iteration.number) continue;
    std::swap(*old, iteration);
    return true;
  }
  return false;
}

std::optional<std::int64_t> Pipeline::first_number() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (busy_) return busy_iteration_;
  for (const auto& each : waiting_) {
    if (const auto* const iteration = std::get_if<Iteration>(&each)) return iteration->number;
  }
  return std::nullopt;
}

bool Pipeline::next(Work* work) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return closing_ || !waiting_.empty(); });
  if (waiting_.empty()) return false;
  *work = std::move(waiting_.front());
  waiting_.pop_front();
  return true;
}

void Pipeline::report(PipelineResult result) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    results_.push_back(std::move(result));
    has_results_.store(true, std::memory_order_relaxed);  // the lock orders what it stands for
  }
  wake_();
}

PipelineResult Pipeline::for_all(PipelineResult::Kind kind, std::string (PluginInstance::*call)()) {
  PipelineResult result{kind, 0, {}, {}};
  for (const auto& plugin : plugins_) {
    result.outcomes.push_back({plugin->store(), (plugin.get()->*call)()});
  }
  return result;
}

std::vector<std::string> Pipeline::stores_of(std::int64_t iteration, std::uint32_t variable) const {
  std::vector<std::string> stores;
  for (const auto& plugin : plugins_) {
    if (plugin->wants(iteration, variable)) stores.push_back(plugin->store());
  }
  return stores;
}

PipelineResult Pipeline::process(Iteration& iteration) {
  PipelineResult result{PipelineResult::Kind::iteration, iteration.number, {}, {}};
  const SpilledBlocks spilled(&iteration);
  result.problems = spilled.problems();
  if (checks_) result.findings = checks_->check(iteration);
  for (BlockProblem& changed : take_out_changed(&iteration))
    result.problems.push_back(std::move(changed));
  std::vector<std::size_t> publishers;
  for (std::size_t i = 0; i < plugins_.size(); ++i) {
    if (!plugins_[i]->wants(iteration)) continue;
    note_call(plugins_[i].get(), iteration.number);
    result.outcomes.push_back({plugins_[i]->store(), give(i, iteration)});
    if (plugins_[i]->has_published()) publishers.push_back(i);
  }
  pass_on_published(iteration.number, publishers);
  note_call(nullptr, 0);
  for (const ChangedBlock& changed : changed_blocks(iteration)) {
    result.problems.push_back(
        changed_while_stored(changed, stores_of(iteration.number, changed.block.variable)));
  }
  return result;
}

// A plugin that takes the server with it, gets the iteration that it does so with no third time.
std::string Pipeline::give(std::size_t store, const Iteration& iteration) {
  shm::StoreWords& words = progress_[store];
  if (iteration.number <= words.done.load()) return "";  // had it from a server that has died
  if (iteration.number != words.begun.load()) {
    words.tries.store(0);
    words.crashes.store(0);
    words.begun.store(iteration.number);
  }
  if (words.crashes.load() >= kMostCrashes || words.tries.load() >= kMostTries) {
    return "the server has died " + std::to_string(words.tries.load()) +
           " times while this store worked on this iteration, of which it has crashed in the "
           "store " +
           std::to_string(words.crashes.load()) + " times; it is not given it again";
  }
  words.tries.fetch_add(1);
  const CrashNote note(&words.crashes);
  std::string error = plugins_[store]->process(iteration);
  if (error.empty() && !plugins_[store]->has_published()) words.done.store(iteration.number);
  return error;
}

// A plugin that has published is done with the iteration when that has come where it should: should
// the server die before, it gets the iteration again, and publishes again.
void Pipeline::pass_on_published(std::int64_t iteration, const std::vector<std::size_t>& by) {
  for (const std::size_t store : by) {
    ++unfinished_;
    report(process(*plugins_[store]->take_published()));
    progress_[store].done.store(iteration);
  }
}

PipelineResult Pipeline::process(const Publication& publication) {
  PipelineResult result{PipelineResult::Kind::products, publication.iteration, {}, {}};
  for (const auto& plugin : plugins_) {
    if (!plugin->wants(publication)) continue;
    note_call(plugin.get(), publication.iteration);
    result.outcomes.push_back({plugin->store(), plugin->process(publication)});
  }
  note_call(nullptr, 0);
  return result;
}

void Pipeline::note_call(const PluginInstance* plugin, std::int64_t iteration) {
  const std::lock_guard<std::mutex> lock(mutex_);
  busy_ = plugin;
  busy_iteration_ = iteration;
  busy_since_ns_ = platform::now_ns();
}

std::string Pipeline::slowest() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::int64_t seconds = (platform::now_ns() - busy_since_ns_) / 1'000'000'000;
  if (!busy_ || seconds < 1) return "";
  return "store \"" + busy_->store() + "\" has worked on iteration " +
         std::to_string(busy_iteration_) + " for " + std::to_string(seconds) + " s";
}

void Pipeline::run(const std::function<void()>& first) {
  if (first) first();
  report(for_all(PipelineResult::Kind::opened, &PluginInstance::open));
  Work work;
  while (next(&work)) {
    PipelineResult result = std::visit([this](auto& each) { return process(each); }, work);
    result.work = std::move(work);
    report(std::move(result));
  }
  ++unfinished_;
  PipelineResult closed = for_all(PipelineResult::Kind::closed, &PluginInstance::close);
  if (checks_) closed.findings = checks_->finish();
  report(std::move(closed));
}

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
#include "server/pipeline.hpp"

#include <unistd.h>

#include <exception>

#include "lib/platform/clock.hpp"

namespace leat::server {

Pipeline::Pipeline(std::vector<std::unique_ptr<PluginInstance>> plugins, std::function<void()> wake)
    : plugins_(std::move(plugins)), wake_(std::move(wake)) {}

Pipeline::~Pipeline() {
  close();
  if (thread_.joinable()) thread_.join();
}

void Pipeline::start() {
  thread_ = std::thread([this] { run(); });
}

void Pipeline::submit(Iteration iteration) {
  const std::lock_guard<std::mutex> lock(mutex_);
  waiting_.push_back(std::move(iteration));
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
  return std::exchange(results_, {});
}

void Pipeline::submit(ScriptResults results) {
  const std::lock_guard<std::mutex> lock(mutex_);
  waiting_.push_back(std::move(results));
  changed_.notify_one();
}

std::optional<Iteration> Pipeline::take_oldest(const Which& which) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto each = waiting_.begin(); each != waiting_.end(); ++each) {
    auto* const iteration = std::get_if<Iteration>(&*each);
    if (!iteration || !which(*iteration)) continue;
    std::optional<Iteration> taken = std::move(*iteration);
    waiting_.erase(each);
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

bool Pipeline::next(std::variant<Iteration, ScriptResults>* work) {
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
  PipelineResult result{kind, 0, {}};
  for (const auto& plugin : plugins_) {
    result.outcomes.push_back({plugin->store(), (plugin.get()->*call)()});
  }
  return result;
}

PipelineResult Pipeline::process(const Iteration& iteration) {
  PipelineResult result{PipelineResult::Kind::iteration, iteration.number, {}};
  for (const auto& plugin : plugins_) {
    if (!plugin->wants(iteration)) continue;
    note_call(plugin.get(), iteration.number);
    result.outcomes.push_back({plugin->store(), plugin->process(iteration)});
  }
  note_call(nullptr, 0);
  return result;
}

PipelineResult Pipeline::process(const ScriptResults& results) {
  PipelineResult result{PipelineResult::Kind::script_results, results.iteration, {}};
  for (const auto& plugin : plugins_) {
    if (!plugin->takes_results()) continue;
    result.outcomes.push_back({plugin->store(), plugin->process(results)});
  }
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

void Pipeline::run() {
  thread_id_ = gettid();
  report(for_all(PipelineResult::Kind::opened, &PluginInstance::open));
  std::variant<Iteration, ScriptResults> work;
  while (next(&work)) {
    PipelineResult result = std::visit([this](const auto& each) { return process(each); }, work);
    work = Iteration{};  // its holds end before its result is seen
    report(std::move(result));
  }
  report(for_all(PipelineResult::Kind::closed, &PluginInstance::close));
}

}  // namespace leat::server

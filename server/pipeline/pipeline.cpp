// SPDX-License-Identifier: Apache-2.0
#include "server/pipeline/pipeline.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "lib/model/product_flow.hpp"
#include "lib/platform/clock.hpp"
#include "server/spill/spilled_blocks.hpp"

namespace leat::server {
namespace {

std::vector<const void*> libraries_of(const Pipeline::Nodes& stores) {
  std::vector<const void*> libraries;
  for (const auto& store : stores) libraries.push_back(store->plugin().library());
  return libraries;
}

std::vector<int> steps_of(const Pipeline::Nodes& stores) {
  std::vector<model::ProductMaker> makers;
  for (const auto& store : stores) makers.push_back(store->plugin().maker());
  return model::product_flow(makers).steps;
}

Pipeline::Nodes nodes_of(std::vector<std::unique_ptr<PluginInstance>> plugins,
                         std::span<shm::StoreWords> progress) {
  Pipeline::Nodes nodes;
  for (auto& plugin : plugins)
    nodes.push_back(std::make_unique<StoreNode>(std::move(plugin), progress[nodes.size()]));
  return nodes;
}

bool went_well(const StoreOutcome& outcome) { return outcome.error.empty(); }

}  // namespace

Pipeline::Pipeline(std::vector<std::unique_ptr<PluginInstance>> plugins,
                   std::span<shm::StoreWords> progress, Hooks hooks, std::size_t most_at_once)
    : stores_(nodes_of(std::move(plugins), progress)),
      steps_(steps_of(stores_)),
      lanes_(libraries_of(stores_), most_at_once),
      hooks_(std::move(hooks)) {}

void Pipeline::start(Executor& executor, std::int32_t first_rank, std::function<void()> first) {
  for (const auto& store : stores_) store->plugin().set_first_rank(first_rank);
  ++unfinished_;
  lanes_.start(executor);
  thread_ = executor.run("leat stores", Executor::Urgency::behind_others,
                         [this, first = std::move(first)] { run(first); });
}

void Pipeline::stop() {
  close();
  if (thread_.joinable()) thread_.join();
}

void Pipeline::submit(Work work) {
  ++unfinished_;
  queue_.submit(std::move(work));
}

std::optional<Iteration> Pipeline::take_oldest(const WaitingLine::Which& which) {
  std::optional<Iteration> taken = queue_.take_oldest(which);
  if (taken) --unfinished_;
  return taken;
}

std::vector<PipelineResult> Pipeline::take_results() {
  if (!has_results()) return {};
  const std::lock_guard<std::mutex> lock(mutex_);
  has_results_.store(false, std::memory_order_relaxed);
  unfinished_ -= static_cast<std::int64_t>(results_.size());
  return std::exchange(results_, {});
}

void Pipeline::report(PipelineResult result) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    results_.push_back(std::move(result));
    has_results_.store(true, std::memory_order_relaxed);  // the lock orders what it stands for
  }
  hooks_.wake();
}

PipelineResult Pipeline::for_all(PipelineResult::Kind kind, std::string (PluginInstance::*call)()) {
  PipelineResult result;
  result.kind = kind;
  result.outcomes.resize(stores_.size());
  lanes_.run([&](std::size_t i) {
    PluginInstance& plugin = stores_[i]->plugin();
    result.outcomes[i] = {plugin.store(), (plugin.*call)()};
  });
  return result;
}

std::vector<std::string> Pipeline::stores_of(std::int64_t iteration, std::uint32_t variable) const {
  std::vector<std::string> stores;
  for (const auto& store : stores_) {
    if (store->plugin().wants(iteration, variable)) stores.push_back(store->plugin().store());
  }
  return stores;
}

PipelineResult Pipeline::process(Iteration& iteration) {
  PipelineResult result;
  result.iteration = iteration.number;
  const SpilledBlocks spilled(&iteration);
  result.problems = spilled.problems();
  if (checks_) result.findings = checks_->check(iteration);
  for (BlockProblem& changed : take_out_changed(&iteration))
    result.problems.push_back(std::move(changed));
  std::vector<std::optional<StoreOutcome>> outcomes(stores_.size());
  const std::size_t waiting = queue_.iterations_waiting();
  lanes_.run([&](std::size_t i) { outcomes[i] = stores_[i]->give(iteration, waiting); });
  for (std::optional<StoreOutcome>& outcome : outcomes) {
    if (outcome) result.outcomes.push_back(std::move(*outcome));
  }
  std::vector<Publication> published;
  result.products = pass_on(&published);
  hooks_.published(iteration.number, published, true);
  // What was lost is in the ledger first.
  if (std::all_of(result.products.begin(), result.products.end(), went_well)) {
    for (const auto& store : stores_) store->passed_on(iteration.number);
  }
  for (const ChangedBlock& changed : changed_blocks(iteration)) {
    result.problems.push_back(
        changed_while_stored(changed, stores_of(iteration.number, changed.block.variable)));
  }
  return result;
}

PipelineResult Pipeline::process(const Publication& publication) {
  PipelineResult result;
  result.kind = PipelineResult::Kind::products;
  result.iteration = publication.iteration;
  std::vector<Publication> published{publication};
  result.products = pass_on(&published);
  hooks_.published(publication.iteration, published, false);
  return result;
}

// Those that make nothing of products come last, and so get all there is in one go.
std::vector<StoreOutcome> Pipeline::pass_on(std::vector<Publication>* published) {
  std::vector<StoreOutcome> outcomes;
  const int last = steps_.empty() ? 0 : *std::max_element(steps_.begin(), steps_.end());
  for (int step = 0; step <= last; ++step) {
    if (step > 0) give(*published, step, &outcomes);
    for (std::size_t i = 0; i < stores_.size(); ++i) {
      if (steps_[i] != step) continue;
      if (std::optional<Publication> made = stores_[i]->take_published())
        published->push_back(std::move(*made));
    }
  }
  give(*published, 0, &outcomes);
  return outcomes;
}

void Pipeline::give(const std::vector<Publication>& published, int step,
                    std::vector<StoreOutcome>* outcomes) {
  if (published.empty()) return;
  std::vector<std::vector<StoreOutcome>> by_store(stores_.size());
  lanes_.run([&](std::size_t i) {
    if (steps_[i] == step) by_store[i] = stores_[i]->give(published);
  });
  for (std::vector<StoreOutcome>& each : by_store)
    std::move(each.begin(), each.end(), std::back_inserter(*outcomes));
}

std::string Pipeline::slowest() const {
  std::string text;
  std::int64_t longest = 0;
  for (const auto& store : stores_) {
    const StoreNode::Busy busy = store->busy();
    if (busy.since_ns == 0) continue;
    const std::int64_t seconds = (platform::now_ns() - busy.since_ns) / 1'000'000'000;
    if (seconds <= longest) continue;
    longest = seconds;
    text = "store \"" + store->plugin().store() + "\" has worked on iteration " +
           std::to_string(busy.iteration) + " for " + std::to_string(seconds) + " s";
  }
  return text;
}

void Pipeline::run(const std::function<void()>& first) {
  if (first) first();
  report(for_all(PipelineResult::Kind::opened, &PluginInstance::open));
  Work work;
  while (queue_.next(&work)) {
    PipelineResult result = std::visit([this](auto& each) { return process(each); }, work);
    queue_.finished();
    result.work = std::move(work);
    report(std::move(result));
  }
  ++unfinished_;
  PipelineResult closed = for_all(PipelineResult::Kind::closed, &PluginInstance::close);
  if (checks_) closed.findings = checks_->finish();
  report(std::move(closed));
}

}  // namespace leat::server

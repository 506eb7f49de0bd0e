// SPDX-License-Identifier: Apache-2.0
#include "server/pipeline/pipeline.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "lib/model/checks.hpp"
#include "lib/os/clock.hpp"
#include "server/state/spill/spill_file.hpp"

namespace leat::server {
namespace {

std::vector<const void*> libraries_of(const Pipeline::Nodes& stores, const SideStores& aside) {
  std::vector<const void*> libraries;
  for (std::size_t i = 0; i < stores.size(); ++i)
    libraries.push_back(aside.has(i) ? nullptr : stores[i]->plugin().library());
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

std::vector<std::string> stores_of(const Pipeline::Nodes& all, const Iteration& iteration,
                                   std::uint32_t variable) {
  std::vector<std::string> stores;
  for (const auto& store : all) {
    if (store->plugin().takes().variable(variable, iteration))
      stores.push_back(store->plugin().store());
  }
  return stores;
}

void add_changed(const Pipeline::Nodes& stores, const Iteration& iteration,
                 PipelineResult* result) {
  for (const ChangedBlock& changed : changed_blocks(iteration)) {
    result->problems.push_back(
        changed_while_stored(changed, stores_of(stores, iteration, changed.block.variable)));
  }
}

bool is_awaited(const StoreNode& store) {
  return store.plugin().schedule() == model::Schedule::sync;
}

bool went_well(const StoreOutcome& outcome) { return outcome.error.empty(); }

// No rank has written it: the ledger does not count it.
bool is_made_here(const Block& block) { return block.shared != nullptr; }

}  // namespace

// An iteration with all its data in memory, until the last store is done with it.
struct Pipeline::Held {
  explicit Held(Iteration its) : iteration(std::move(its)) { spilled.emplace(&iteration); }

  Iteration give_back(bool is_shared) {
    if (!is_shared) std::erase_if(iteration.blocks, is_made_here);
    if (!is_shared) {
      spilled.reset();
      return std::move(iteration);
    }
    Iteration copy = iteration;
    std::erase_if(copy.blocks, is_made_here);
    for (Block& block : copy.blocks) {
      if (block.file) block.data = nullptr;
    }
    return copy;
  }

  Iteration iteration;
  std::optional<SpilledBlocks> spilled;
};

Pipeline::Pipeline(std::vector<std::unique_ptr<PluginInstance>> plugins,
                   std::span<shm::StoreWords> progress, Hooks hooks, const ServerCores& cores)
    : stores_(nodes_of(std::move(plugins), progress)),
      steps_(steps_of(stores_)),
      hooks_(std::move(hooks)),
      crews_(cores),
      aside_(stores_, queue_),
      lanes_(libraries_of(stores_, aside_), cores.dedicated) {
  const auto is_late = [this] { return queue_.iterations_waiting() > 0; };
  for (const auto& store : stores_)
    store->plugin().set_crew(crews_.of(store->plugin().schedule()), is_late);
}

void Pipeline::start(Executor& executor, const std::vector<std::int32_t>& ranks,
                     std::function<void()> first) {
  for (const auto& store : stores_) store->plugin().set_ranks(ranks);
  if (derivation_ && !ranks.empty()) derivation_->serves(ranks.front());
  ++unfinished_;
  lanes_.start(executor);
  crews_.start(executor);
  aside_.start(executor);
  thread_ = executor.run("leat stores", Executor::Urgency::behind_others,
                         [this, first = std::move(first)] { run(first); });
}

void Pipeline::stop() {
  queue_.abandon();
  close();
  if (thread_.joinable()) thread_.join();
}

// Scripts other than for Damaris get the whole arrays, and so does a variable's reader where no store has it.
void Pipeline::check_with(const model::Model& model, ArrayChecks::Wanted wanted) {
  const auto& scripts = model.scripts.sources;
  const bool for_scripts = std::any_of(scripts.begin(), scripts.end(), [](const auto& each) {
    return each.form() != model::ScriptForm::damaris;
  });
  for (std::uint32_t number = 0; number < model.variables.size() && !for_scripts; ++number) {
    const bool is_whole = model.variables[number].stores.empty() ||
                          std::any_of(stores_.begin(), stores_.end(), [&](const auto& store) {
                            return store->plugin().makes_whole(number);
                          });
    if (!is_whole) wanted.kept_apart.insert(number);
  }
  checks_.emplace(model, wanted);
  std::set<std::uint32_t> changed;
  for (std::uint32_t number = 0; number < model.variables.size(); ++number) {
    for (const auto& store : stores_) {
      if (store->plugin().changes_values(number)) changed.insert(number);
    }
  }
  storing_.emplace(model, changed);
}

void Pipeline::trace_with(Trace* trace) {
  trace_ = trace;
  if (trace) track_ = trace->track("pipeline", kPipelinePlace);
  for (std::size_t i = 0; i < stores_.size(); ++i) stores_[i]->trace_with(trace, i);
}

void Pipeline::submit(Work work) {
  ++unfinished_;
  queue_.submit(std::move(work));
}

void Pipeline::deliver(Delivery delivery) {
  ++unfinished_;
  queue_.deliver(std::move(delivery));
}

std::optional<Iteration> Pipeline::take_oldest(const WaitingLine::Which& which) {
  std::optional<Iteration> taken = queue_.take_oldest(which);
  if (taken) --unfinished_;
  return taken;
}

void Pipeline::drop_published(std::int64_t iteration) {
  unfinished_ -= static_cast<std::int64_t>(queue_.take_undeclared(iteration).size());
}

bool Pipeline::may_reduce(std::uint32_t store, std::int64_t first, std::int64_t last) const {
  if (queue_.has(first, last)) return true;
  return store < stores_.size() &&
         (stores_[store]->is_aside() || stores_[store]->plugin().host().is_reducing(first, last));
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
  const auto call_one = [&](std::size_t i) {
    PluginInstance& plugin = stores_[i]->plugin();
    const TracedTime time =
        stores_[i]->traced(-1, kind == PipelineResult::Kind::opened ? "open" : "close");
    result.outcomes[i] = {plugin.store(), (plugin.*call)()};
  };
  aside_.send_to_all(call_one);
  lanes_.run(call_one);
  aside_.await_all();
  return result;
}

PipelineResult Pipeline::process(Iteration& iteration) {
  const TracedTime time(trace_, track_, iteration.number);
  const auto held = std::make_shared<Held>(std::move(iteration));
  Iteration& its = held->iteration;
  PipelineResult result;
  result.iteration = its.number;
  result.problems = held->spilled->problems();
  if (checks_) result.findings = checks_->check(its);
  for (BlockProblem& changed : take_out_changed(&its))
    result.problems.push_back(std::move(changed));
  if (derivation_) derive(&its, &result);
  Turn turn{its.number, std::vector<std::uint8_t>(stores_.size())};
  for (std::optional<StoreOutcome>& outcome : give(held, &turn, &result.at_work)) {
    if (outcome) result.outcomes.push_back(std::move(*outcome));
  }
  std::vector<Publication> published;
  result.products = pass_on(turn, &published);
  hooks_.published(turn.iteration, published, true);
  // What was lost is in the ledger first.
  if (std::all_of(result.products.begin(), result.products.end(), went_well)) {
    for (const auto& store : stores_) {
      if (!store->is_aside()) store->passed_on(turn.iteration);
    }
  }
  add_changed(stores_, its, &result);
  iteration = held->give_back(result.at_work > 0);
  return result;
}

void Pipeline::derive(Iteration* iteration, PipelineResult* result) {
  DerivationWrong wrong = derivation_->add_to(iteration);
  for (BlockProblem& each : wrong.problems) result->problems.push_back(std::move(each));
  for (Finding& each : wrong.findings) result->findings.push_back(std::move(each));
  if (storing_) {
    for (Finding& each : storing_->check(*iteration)) result->findings.push_back(std::move(each));
  }
  if (derives()) hooks_.derived(*iteration);
}

// What comes late holds on to the iteration, and with it the blocks.
std::vector<std::optional<StoreOutcome>> Pipeline::give(const std::shared_ptr<Held>& held,
                                                        Turn* turn, std::size_t* at_work) {
  std::vector<std::optional<StoreOutcome>> outcomes(stores_.size());
  const std::size_t waiting = queue_.iterations_waiting();
  const auto call = [held, waiting](StoreNode& store) {
    const std::optional<StoreOutcome> outcome = store.give(held->iteration, waiting);
    return outcome ? SideStores::Outcomes{*outcome} : SideStores::Outcomes();
  };
  const auto late = [this, held](StoreNode& store, SideStores::Outcomes its) {
    PipelineResult result;
    result.outcomes = std::move(its);
    add_changed(stores_, held->iteration, &result);
    result.iteration = held->iteration.number;
    result.work = held->give_back(true);
    came_late(store, std::move(result));
  };
  for (std::size_t i = 0; i < stores_.size(); ++i) {
    if (!aside_.has(i) || !stores_[i]->plugin().wants(held->iteration)) continue;
    ++unfinished_;
    aside_.call(i, call, late);
  }
  const auto give_those = [&](bool awaited) {
    lanes_.run([&](std::size_t i) {
      if (is_awaited(*stores_[i]) == awaited)
        outcomes[i] = stores_[i]->give(held->iteration, waiting);
    });
  };
  if (server::is_awaited(stores_, held->iteration)) {
    give_those(true);
    PipelineResult result;
    result.kind = PipelineResult::Kind::awaited;
    result.iteration = turn->iteration;
    ++unfinished_;
    report(std::move(result));
  }
  give_those(false);
  const SideStores::Round round = await_aside(turn->iteration);
  for (std::size_t i = 0; i < stores_.size(); ++i) {
    if (!round.outcomes[i].empty()) outcomes[i] = round.outcomes[i][0];
    turn->left_out[i] = outcomes[i] && outcomes[i]->skipped;
  }
  for (const std::size_t i : round.left_out) {
    stores_[i]->leave_out(turn->iteration);
    turn->left_out[i] = 1;
    outcomes[i] = StoreOutcome{stores_[i]->plugin().store(), "", true};
  }
  *at_work = round.aside.size();
  return outcomes;
}

// Each call was counted as one that comes late.
SideStores::Round Pipeline::await_aside(std::int64_t iteration) {
  SideStores::Round round = aside_.await(iteration);
  unfinished_ -= static_cast<std::int64_t>(round.calls - round.aside.size());
  return round;
}

// On the store's thread. What it has published goes to those that take it as a script's would.
void Pipeline::came_late(StoreNode& store, PipelineResult result) {
  result.kind = PipelineResult::Kind::late;
  if (std::optional<Publication> made = store.take_published()) submit(std::move(*made));
  store.passed_on(result.iteration);
  store.comes_back();
  report(std::move(result));
}

PipelineResult Pipeline::process(const Publication& publication) {
  PipelineResult result;
  result.kind = PipelineResult::Kind::products;
  result.iteration = publication.iteration;
  std::vector<Publication> published{publication};
  const Turn turn{publication.iteration, std::vector<std::uint8_t>(stores_.size())};
  result.products = pass_on(turn, &published);
  hooks_.published(publication.iteration, published, false);
  return result;
}

// On the store's thread, behind what it is at.
PipelineResult Pipeline::process(const Delivery& delivery) {
  PipelineResult result;
  result.kind = PipelineResult::Kind::products;
  result.iteration = delivery.iteration;
  if (aside_.has(delivery.store)) {
    ++unfinished_;  // beside the one that it came as
    aside_.send(delivery.store, [this, delivery] { report(delivered(delivery)); });
    return result;
  }
  lanes_.run([&](std::size_t i) {
    if (i == delivery.store) result = delivered(delivery);
  });
  return result;
}

// What it has published goes to those that take it as a script's would.
PipelineResult Pipeline::delivered(const Delivery& delivery) {
  PipelineResult result;
  result.kind = PipelineResult::Kind::products;
  result.iteration = delivery.iteration;
  StoreNode& store = *stores_[delivery.store];
  StoreOutcome outcome = store.deliver(delivery);
  if (!outcome.error.empty()) result.products.push_back(std::move(outcome));
  if (std::optional<Publication> made = store.take_published()) submit(std::move(*made));
  queue_.delivered();
  return result;
}

// Those that make nothing of products come last, and so get all there is in one go.
std::vector<StoreOutcome> Pipeline::pass_on(const Turn& turn, std::vector<Publication>* published) {
  std::vector<StoreOutcome> outcomes;
  const int last = steps_.empty() ? 0 : *std::max_element(steps_.begin(), steps_.end());
  for (int step = 0; step <= last; ++step) {
    if (step > 0) give(turn, *published, step, &outcomes);
    for (std::size_t i = 0; i < stores_.size(); ++i) {
      if (steps_[i] != step || stores_[i]->is_aside()) continue;
      if (std::optional<Publication> made = stores_[i]->take_published())
        published->push_back(std::move(*made));
    }
  }
  give(turn, *published, 0, &outcomes);
  return outcomes;
}

void Pipeline::give(const Turn& turn, const std::vector<Publication>& published, int step,
                    std::vector<StoreOutcome>* outcomes) {
  if (published.empty()) return;
  std::vector<std::vector<StoreOutcome>> by_store(stores_.size());
  send_aside(turn, published, step);
  lanes_.run([&](std::size_t i) {
    if (steps_[i] == step) by_store[i] = stores_[i]->give(published);
  });
  SideStores::Round round = await_aside(turn.iteration);
  for (const std::size_t i : round.left_out)
    by_store[i] = {StoreOutcome{stores_[i]->plugin().store(), "", true}};
  for (std::size_t i = 0; i < stores_.size(); ++i) {
    std::move(by_store[i].begin(), by_store[i].end(), std::back_inserter(*outcomes));
    std::move(round.outcomes[i].begin(), round.outcomes[i].end(), std::back_inserter(*outcomes));
  }
}

// What is made of the iteration that a store is aside with is for it too; what is made of one that
// it has left out is not.
void Pipeline::send_aside(const Turn& turn, const std::vector<Publication>& published, int step) {
  const auto late = [this, iteration = turn.iteration](StoreNode& store,
                                                       SideStores::Outcomes outcomes) {
    PipelineResult result;
    result.iteration = iteration;
    result.products = std::move(outcomes);
    came_late(store, std::move(result));
  };
  for (std::size_t i = 0; i < stores_.size(); ++i) {
    StoreNode& store = *stores_[i];
    const auto takes = [&](const Publication& each) {
      return !store.plugin().wanted_of(each).empty();
    };
    const bool is_due = aside_.has(i) && steps_[i] == step && turn.left_out[i] == 0 &&
                        std::any_of(published.begin(), published.end(), takes);
    if (!is_due) continue;
    const auto call = [published](StoreNode& node) { return node.give(published); };
    ++unfinished_;
    if (store.is_aside_with(turn.iteration)) {
      aside_.call_aside(i, turn.iteration, call, late);
    } else {
      aside_.call(i, call, late);
    }
  }
}

std::string Pipeline::slowest() const {
  std::string text;
  std::int64_t longest = 0;
  for (const auto& store : stores_) {
    const StoreNode::Busy busy = store->busy();
    if (busy.since_ns == 0) continue;
    const std::int64_t seconds = (os::now_ns() - busy.since_ns) / 1'000'000'000;
    if (seconds <= longest) continue;
    longest = seconds;
    text = "store \"" + store->plugin().store() + "\" has worked on iteration " +
           std::to_string(busy.iteration) + " for " + std::to_string(seconds) + " s";
  }
  return text;
}

bool is_awaited(const Pipeline::Nodes& stores, const Iteration& iteration) {
  return std::any_of(stores.begin(), stores.end(), [&](const auto& store) {
    return is_awaited(*store) && store->plugin().wants(iteration);
  });
}

// False after the last, and after what stores have made that were aside.
bool Pipeline::next(Work* work) {
  if (queue_.next(work)) return true;
  aside_.await_all();
  return queue_.next(work);
}

// To stores whose files have a row of the end of the run; how they failed, by store.
std::vector<std::string> Pipeline::tell_end(PipelineResult* result) {
  std::vector<std::string> failed(stores_.size());
  if (!derivation_ || queue_.is_abandoned()) return failed;
  DerivationWrong wrong;
  const std::optional<Iteration> end = derivation_->end_of_run(&wrong);
  result->problems = std::move(wrong.problems);
  result->findings = std::move(wrong.findings);
  if (!end) return failed;
  const auto give = [&](std::size_t i) {
    if (const std::optional<StoreOutcome> outcome = stores_[i]->give(*end, 0))
      failed[i] = outcome->error;
  };
  aside_.send_to_all(give);
  lanes_.run(give);
  aside_.await_all();
  return failed;
}

void Pipeline::run(const std::function<void()>& first) {
  if (first) first();
  report(for_all(PipelineResult::Kind::opened, &PluginInstance::open));
  Work work;
  while (next(&work)) {
    PipelineResult result = std::visit([this](auto& each) { return process(each); }, work);
    queue_.finished();
    result.work = std::move(work);
    report(std::move(result));
  }
  PipelineResult at_end;
  const std::vector<std::string> failed = tell_end(&at_end);
  if (derivation_) {
    std::vector<Finding> not_had = derivation_->finish();
    if (!queue_.is_abandoned())
      for (Finding& each : not_had) at_end.findings.push_back(std::move(each));
  }
  ++unfinished_;
  PipelineResult closed = for_all(PipelineResult::Kind::closed, &PluginInstance::close);
  closed.problems = std::move(at_end.problems);
  for (std::size_t i = 0; i < failed.size(); ++i)
    if (!failed[i].empty()) closed.outcomes[i].error = failed[i];
  if (checks_) closed.findings = checks_->finish();
  for (Finding& each : at_end.findings) closed.findings.push_back(std::move(each));
  report(std::move(closed));
}

}  // namespace leat::server

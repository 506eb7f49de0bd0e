// SPDX-License-Identifier: Apache-2.0
#include "server/pipeline/plugin_instance.hpp"

#include <algorithm>

#include "lib/os/clock.hpp"
#include "server/pipeline/plugin_loader.hpp"

namespace leat::server {

StoreTakes::StoreTakes(const model::Model& model, std::uint32_t store, bool is_told)
    : every_(model.stores[store].every),
      due_(model.stores[store].due),
      period_(model.stores[store].period),
      events_(model, store, is_told) {
  for (const model::Variable& each : model.variables) {
    variables_.push_back(std::count(each.stores.begin(), each.stores.end(), store) > 0);
    periods_.push_back(each.period);
  }
}

const std::pair<double, double>* StoreTakes::window_in(const Iteration& iteration) const {
  const auto found = period_ ? iteration.windows.find(*period_) : iteration.windows.end();
  return found == iteration.windows.end() ? nullptr : &found->second;
}

bool StoreTakes::is_due(const Iteration& iteration) const {
  if (period_) return window_in(iteration) != nullptr;
  if (iteration.is_end) return false;
  if (due_) return is_in(iteration, due_);
  return events_.awaits_one() ? events_.one_happens(iteration) : iteration.number % every_ == 0;
}

bool StoreTakes::blocks_of(const Iteration& iteration) const {
  return std::any_of(iteration.blocks.begin(), iteration.blocks.end(),
                     [&](const Block& block) { return variable(block.variable, iteration); });
}

namespace {

// What a call has published that fails, is dropped.
template <class Call>
std::string timed(PluginWork* work, PluginHost* host, const Call& call) {
  const std::int64_t begun_ns = os::now_ns();
  std::string error = call();
  if (error.empty()) error = host->send_reductions();
  work->ns += static_cast<std::uint64_t>(os::now_ns() - begun_ns);
  if (!error.empty()) host->call_failed();
  return error;
}

}  // namespace

PluginInstance::PluginInstance(const leat_plugin* plugin, const model::Model& model,
                               std::uint32_t store, const PluginView& view,
                               std::shared_ptr<Log> log, void* first_state)
    : run_(view.run_for(store)),
      plugin_(plugin),
      store_(store),
      takes_constants_again_(model::is_checkpoint(model.stores[store])),
      name_(model.stores[store].name),
      maker_(model::maker_of(model.stores[store])),
      may_skip_(!model.stores[store].waits),
      schedule_(model.stores[store].runs),
      takes_(model, store, plugin->on_signal != nullptr),
      view_(view),
      trace_(PieceTrace::wanted_for(name_, log)),
      host_(name_, maker_.makes, std::move(log), view.mpi()),
      state_(first_state) {}

std::string PluginInstance::outcome(int code, const char* function) const {
  if (code == 0) return "";
  if (std::string said = host_.last_error(); !said.empty()) return said;
  return std::string(plugin_->name) + " failed in " + function + " and did not say why (code " +
         std::to_string(code) + ")";
}

std::string PluginInstance::do_open() {
  return outcome(plugin_->open(&run_, host_.abi(), &state_), "open");
}

std::string PluginInstance::open() {
  std::string why = do_open();
  why_not_open_.reset();
  if (!why.empty()) why_not_open_ = why;
  return why;
}

std::string PluginInstance::process(const Iteration& iteration, std::size_t waiting) {
  if (why_not_open_) return *why_not_open_;
  const PluginHost::InTurn turn(host_);
  return do_process(iteration, waiting);
}

std::string PluginInstance::do_process(const Iteration& iteration, std::size_t waiting) {
  std::string error = tell(iteration);
  if (!takes_.blocks_of(iteration)) return error;
  std::string more = take_blocks(iteration, waiting);
  return error.empty() ? more : error;
}

// A failure keeps nothing of what comes after it.
std::string PluginInstance::tell(const Iteration& iteration) {
  std::string first_error;
  for (const Signal& signal : iteration.signals) {
    if (!takes_.events().is_told(signal)) continue;
    const char* const event = takes_.events().name(signal);
    for (std::uint32_t i = 0; i < signal.times; ++i) {
      host_.call_begins();
      std::string error = timed(&work_, &host_, [&] {
        return outcome(plugin_->on_signal(state_, event, signal.rank, iteration.number, ""),
                       "on_signal");
      });
      if (first_error.empty()) first_error = std::move(error);
    }
  }
  return first_error;
}

namespace {

void add_constants(const std::vector<const Block*>& constants, std::vector<leat_block>* blocks) {
  const std::size_t own = blocks->size();
  for (const Block* const block : constants) {
    const auto is_same = [&](const leat_block& other) {
      return other.variable == block->variable && other.rank == block->rank &&
             other.block == block->block;
    };
    if (std::none_of(blocks->begin(), blocks->begin() + static_cast<std::ptrdiff_t>(own), is_same))
      blocks->push_back(block_of(*block));
  }
  std::stable_sort(blocks->begin(), blocks->end(), [](const leat_block& a, const leat_block& b) {
    return a.variable < b.variable;
  });
}

}  // namespace

std::string PluginInstance::take_blocks(const Iteration& iteration, std::size_t waiting) {
  host_.call_begins(PluginHost::Call::iteration, iteration.number);
  std::vector<leat_block> blocks;
  std::uint64_t bytes = 0;
  for (const Block& block : iteration.blocks) {
    if (!takes_.variable(block.variable, iteration)) continue;
    blocks.push_back(block_of(block));
    bytes += block.bytes;
  }
  const std::vector<const Block*> constants = not_had(iteration);
  if (!constants.empty()) add_constants(constants, &blocks);
  leat_iteration_data data{};
  data.size = sizeof data;
  data.iteration = iteration.number;
  data.blocks = blocks.data();
  data.block_count = blocks.size();
  data.block_stride = sizeof(leat_block);
  data.complete = iteration.complete;
  const std::vector<leat_parameter> parameters = view_.parameters_of(iteration);
  data.parameters = parameters.data();
  data.parameter_count = parameters.size();
  data.parameter_stride = sizeof(leat_parameter);
  const std::vector<leat_mesh> meshes = view_.meshes_of(iteration);
  data.meshes = meshes.empty() ? nullptr : meshes.data();
  data.mesh_stride = sizeof(leat_mesh);
  data.waiting = waiting;
  data.died = iteration.died.data();
  data.died_count = iteration.died.size();
  if (const std::pair<double, double>* const window = takes_.window_in(iteration)) {
    data.has_window = 1;
    data.window[0] = window->first;
    data.window[1] = window->second;
  }
  std::string error = timed(&work_, &host_, [&] { return in_pieces(data); });
  if (trace_) trace_->flush();
  if (error.empty()) {
    work_.bytes += bytes;
    note_had(iteration, constants);
  }
  ++work_.calls;
  return error;
}

std::vector<const Block*> PluginInstance::not_had(const Iteration& iteration) const {
  std::vector<const Block*> all;
  for (const Block& block : iteration.constants) {
    const bool has_it = block.had && block.had->has(store_) && !takes_constants_again_;
    if (takes_.variable(block.variable) && !has_it) all.push_back(&block);
  }
  return all;
}

void PluginInstance::note_had(const Iteration& iteration,
                              const std::vector<const Block*>& constants) const {
  if (iteration.took) iteration.took->add(store_);
  for (const Block* const block : constants)
    if (block->had) block->had->add(store_);
}

// What does not come in pieces is one.
std::string PluginInstance::in_pieces(const leat_iteration_data& data) {
  if (!plugin_->begin || !crew_) {
    const TracedPiece traced(trace_.get());
    return outcome(plugin_->iteration(state_, &data), "iteration");
  }
  std::uint64_t pieces = 0;
  std::string error = outcome(plugin_->begin(state_, &data, &pieces), "begin");
  if (!error.empty()) return error;
  const auto crashes = CrashNote::count_here();
  const PieceRunner::Piece piece = [&](std::uint64_t number) {
    const CrashNote note(crashes);
    const TracedPiece traced(trace_.get());
    return outcome(plugin_->chunk(state_, number), "chunk");
  };
  error = crew_->run(pieces, piece, is_late_);
  return error.empty() ? outcome(plugin_->finish(state_), "finish") : error;
}

std::optional<Publication> PluginInstance::take_published() {
  std::optional<Publication> published = host_.take_published();
  if (published) work_.products_published += published->products.size();
  return published;
}

std::vector<const Product*> PluginInstance::wanted_of(const Publication& publication) const {
  const bool is_own =
      publication.kind == Publication::Source::plugin && publication.source == name_;
  if (!plugin_->results || is_own || !takes_.row_of(publication)) return {};
  return server::wanted_of(publication, maker_.takes);
}

std::string PluginInstance::process(const Publication& publication,
                                    const std::vector<const Product*>& wanted) {
  if (why_not_open_) return *why_not_open_;
  const PluginHost::InTurn turn(host_);
  return do_process(publication, wanted);
}

std::string PluginInstance::do_process(const Publication& publication,
                                       const std::vector<const Product*>& wanted) {
  host_.call_begins(PluginHost::Call::results, publication.iteration);
  std::vector<leat_result> results;
  for (const Product* product : wanted) results.push_back(result_of(*product));
  leat_result_set set{};
  set.size = sizeof set;
  set.source = publication.source.c_str();
  set.iteration = publication.iteration;
  set.results = results.data();
  set.result_count = results.size();
  set.result_stride = sizeof(leat_result);
  set.source_kind =
      publication.kind == Publication::Source::plugin ? LEAT_FROM_PLUGIN : LEAT_FROM_SCRIPT;
  set.of_run = publication.of_run;
  std::string error =
      timed(&work_, &host_, [&] { return outcome(plugin_->results(state_, &set), "results"); });
  if (error.empty()) work_.products_taken += wanted.size();
  return error;
}

std::string PluginInstance::reduced(const PluginReduction& reduction, const comm::Outcome& outcome,
                                    comm::Rank self, comm::Rank servers) {
  host_.call_begins(PluginHost::Call::reduced, reduction.iteration());
  std::string error =
      timed(&work_, &host_, [&] { return host_.deliver(reduction, outcome, self, servers); });
  host_.was_delivered(reduction);
  return error;
}

std::string PluginInstance::close() {
  if (why_not_open_) return "";
  why_not_open_ = "";
  const PluginHost::InTurn turn(host_);
  return do_close();
}

std::string PluginInstance::do_close() {
  host_.call_begins();
  return outcome(plugin_->close(state_), "close");
}

}  // namespace leat::server

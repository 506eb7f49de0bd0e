// SPDX-License-Identifier: Apache-2.0
// One plugin at work for one <store>: what the host passes to it, and what it says back. It is at work
// in this process, or where another class says.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/model/checks.hpp"
#include "lib/model/model.hpp"
#include "server/pipeline/plugin_host.hpp"
#include "server/pipeline/plugin_view.hpp"
#include "server/pipeline/work_team.hpp"
#include "server/state/iterations/iteration.hpp"
#include "server/state/iterations/times.hpp"

namespace leat::server {

// What a store takes of iterations and events, as the XML says.

// Which events of the XML a store waits for, and which its plugin is told of.
class StoreEvents {
 public:
  /// `is_told`: the plugin can be.
  StoreEvents(const model::Model& model, std::uint32_t store, bool is_told)
      : model_(model), awaits_one_(model.stores[store].awaits_event) {
    const auto has = [store](const std::vector<std::uint32_t>& stores) {
      return std::count(stores.begin(), stores.end(), store) > 0;
    };
    for (const model::Event& event : model.events) {
      awaited_.push_back(has(event.stores));
      told_.push_back(is_told && has(event.told));
    }
  }

  /// It takes only iterations for which one_happens().
  bool awaits_one() const noexcept { return awaits_one_; }
  bool one_happens(const Iteration& iteration) const { return any(iteration, awaited_); }
  bool any_to_tell(const Iteration& iteration) const { return any(iteration, told_); }
  bool is_told(const Signal& signal) const { return told_[signal.event] != 0; }
  const char* name(const Signal& signal) const { return model_.events[signal.event].name.c_str(); }

 private:
  static bool any(const Iteration& iteration, const std::vector<std::uint8_t>& which) {
    return std::any_of(iteration.signals.begin(), iteration.signals.end(),
                       [&](const Signal& signal) { return which[signal.event] != 0; });
  }

  const model::Model& model_;
  bool awaits_one_;
  std::vector<std::uint8_t> awaited_, told_;  // by event
};

// What a store takes of iterations, as the XML says.
class StoreTakes {
 public:
  /// `is_told`: its plugin is told of events.
  StoreTakes(const model::Model& model, std::uint32_t store, bool is_told);

  const StoreEvents& events() const noexcept { return events_; }
  bool variable(std::uint32_t variable) const { return variables_[variable] != 0; }
  /// True when it takes the variable in this iteration.
  bool variable(std::uint32_t number, const Iteration& iteration) const {
    return variable(number) && is_due(iteration) && is_in(iteration, periods_[number]);
  }
  bool blocks_of(const Iteration& iteration) const;
  /// Whether what a rank has written undeclared is of an iteration that the store takes; of one that is due by the time or a condition
  /// it takes all.
  bool row_of(const Publication& publication) const {
    return !is_undeclared(publication) || period_ || due_ || events_.awaits_one() ||
           publication.iteration % every_ == 0;
  }
  /// The period that what it takes of the iteration is over; null: none.
  const std::pair<double, double>* window_in(const Iteration& iteration) const;
  /// It takes blocks, or is told of events.
  bool something_of(const Iteration& iteration) const {
    return blocks_of(iteration) || events_.any_to_tell(iteration);
  }

 private:
  bool is_due(const Iteration& iteration) const;
  /// It is due by a period, or has none.
  static bool is_in(const Iteration& iteration, const std::optional<std::uint32_t>& period) {
    return !period || (*period < iteration.due.size() && iteration.due[*period] != 0);
  }

  std::int64_t every_;
  std::optional<std::uint32_t> due_, period_;
  StoreEvents events_;
  std::vector<std::uint8_t> variables_;
  std::vector<std::optional<std::uint32_t>> periods_;  // by variable
};

/// What a plugin has done with iterations so far; for other threads too, each number by itself.
struct PluginWork {
  std::atomic<std::uint64_t> calls{0}, ns{0};
  std::atomic<std::uint64_t> bytes{0};  ///< that it has taken
  std::atomic<std::uint64_t> products_taken{0}, products_published{0};
  const ScheduleUser* user = nullptr;  ///< where it works on the simulation's cores
};

/// Calls come from one thread, always the same. Errors are messages; an empty one is success.
class PluginInstance {
 public:
  /// `first_state`: what open() finds in *state.
  PluginInstance(const leat_plugin* plugin, const model::Model& model, std::uint32_t store,
                 const PluginView& view, std::shared_ptr<Log> log, void* first_state = nullptr);
  PluginInstance(const PluginInstance&) = delete;
  virtual ~PluginInstance() = default;

  /// Before open(): the ranks of this server, ascending.
  void set_ranks(std::vector<std::int32_t> ranks) {
    own_ranks_ = std::move(ranks);
    run_.first_rank = own_ranks_.empty() ? 0 : own_ranks_.front();
    run_.own_ranks = own_ranks_.empty() ? nullptr : own_ranks_.data();
  }
  /// Before open(): who does iterations that are done in pieces, and whether others wait for them.
  void set_crew(PieceRunner& crew, PieceRunner::IsLate is_late) {
    crew_ = &crew;
    is_late_ = std::move(is_late);
  }
  std::string open();
  /// True when this plugin takes something of the iteration.
  bool wants(const Iteration& iteration) const { return takes_.something_of(iteration); }
  /// `waiting`: iterations behind it.
  std::string process(const Iteration& iteration, std::size_t waiting);
  /// What it has published in the last call, if that has succeeded.
  virtual std::optional<Publication> take_published();
  /// What it takes of what another has published: pointers into `publication`.
  std::vector<const Product*> wanted_of(const Publication& publication) const;
  std::string process(const Publication& publication, const std::vector<const Product*>& wanted);
  /// What it reduced has come to that.
  std::string reduced(const PluginReduction& reduction, const comm::Outcome& outcome,
                      comm::Rank self, comm::Rank servers);
  std::string close();

  PluginHost& host() noexcept { return host_; }
  const std::string& store() const noexcept { return name_; }
  const PluginWork& work() const noexcept { return work_; }
  /// What it takes of products, and what it makes of them, as the XML says.
  const model::ProductMaker& maker() const noexcept { return maker_; }
  model::Schedule schedule() const noexcept { return schedule_; }
  /// What it takes of iterations.
  const StoreTakes& takes() const noexcept { return takes_; }
  /// Whether it takes the variable, and makes one array of its blocks.
  bool makes_whole(std::uint32_t variable) const {
    return takes_.variable(variable) &&
           (!plugin_->makes_whole || plugin_->makes_whole(&run_, variable) != 0);
  }
  /// Whether it takes the variable, and stores its values as the options of that say.
  bool changes_values(std::uint32_t variable) const {
    return takes_.variable(variable) && plugin_->changes_values &&
           plugin_->changes_values(&run_, variable) != 0;
  }
  /// Iterations are left out while it is busy.
  bool may_skip() const noexcept { return may_skip_; }
  /// The same for all stores whose plugin is one and the same library.
  virtual const void* library() const noexcept {
    return reinterpret_cast<const void*>(plugin_->iteration);
  }

 protected:
  /// Of what was written once and is kept, what this store has not had, or all: a checkpoint is whole by itself.
  std::vector<const Block*> not_had(const Iteration& iteration) const;
  void note_had(const Iteration& iteration, const std::vector<const Block*>& constants) const;

  leat_run run_;
  std::vector<std::int32_t> own_ranks_;
  PluginWork work_;

 private:
  virtual std::string do_open();
  virtual std::string do_process(const Iteration& iteration, std::size_t waiting);
  virtual std::string do_process(const Publication& publication,
                                 const std::vector<const Product*>& wanted);
  virtual std::string do_close();

  std::string take_blocks(const Iteration& iteration, std::size_t waiting);
  std::string tell(const Iteration& iteration);
  std::string outcome(int code, const char* function) const;
  std::string in_pieces(const leat_iteration_data& data);

  const leat_plugin* plugin_;
  std::uint32_t store_;
  bool takes_constants_again_;
  std::string name_;
  model::ProductMaker maker_;
  bool may_skip_;
  model::Schedule schedule_;
  StoreTakes takes_;
  const PluginView& view_;
  std::unique_ptr<PieceTrace> trace_;  // null: nobody wants it
  PluginHost host_;
  PieceRunner* crew_ = nullptr;
  PieceRunner::IsLate is_late_{};
  void* state_ = nullptr;
  std::optional<std::string> why_not_open_ = "";  // nothing: it is open
};

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// What has come for a module, and what it still waits for: a turn has inputs of one iteration. Turns are in order.
// With the lock of the board.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/workers/graph/stamp_filter.hpp"
#include "server/workers/python/module_plan.hpp"
#include "server/workers/script_job.hpp"

namespace leat::server {

class ModuleInputs {
 public:
  /// Throws std::invalid_argument for what the model does not have.
  ModuleInputs(std::shared_ptr<const ModulePlan> plan, const model::Model& model);

  /// Each that comes. Kept is what the module takes of it, for a turn.
  void take(const Iteration& iteration, const std::shared_ptr<const void>& pending,
            std::int64_t now_ns);
  /// Of a source of one of its ports, or of others.
  void take(const Publication& publication);
  /// All that the stores make of the iteration has come, but for what comes late.
  void stores_have_published(std::int64_t iteration);

  /// Whether a module or script may yet make something of one of these iterations.
  using MayCome =
      std::function<bool(const std::string& source, std::int64_t first, std::int64_t last)>;
  /// The next job, where all is there for it. To be put in line before the next one is asked for, which may wait for it.
  std::optional<ScriptJob> take_ready(const MayCome& may_come);
  /// Iterations of which something was missing, since the last time.
  std::uint64_t take_given_up() noexcept { return std::exchange(given_up_, 0); }

  /// It keeps something of these for a turn.
  bool has(std::int64_t first, std::int64_t last) const;
  /// And waits for what stores make of it.
  bool awaits_stores(std::int64_t iteration) const;
  /// How many iterations of which it has something of this source.
  std::size_t waiting_of(const std::string& source) const;
  /// How many may wait of that source; 0: any number.
  std::int64_t depth_of(const std::string& source) const;
  bool wants(std::uint32_t variable) const;
  /// Nothing waits any more. Returns how many iterations did.
  std::uint64_t drop();

 private:
  /// Of one iteration: by input, what has come.
  struct Partial {
    std::shared_ptr<const Iteration> iteration;
    std::vector<std::vector<Publication>> inputs;
    bool stores_have_published = false;
    bool is_left_out = false;  ///< a message was not let through
  };
  /// Of an input with tokens: the messages that have come, by iteration, with those that no turn had.
  using Past = std::map<std::int64_t, std::vector<Publication>>;
  enum class Has { all, waits, never };

  bool is_wanted(const Iteration& iteration, std::int64_t now_ns);
  bool has_variables(const Iteration& iteration) const;
  std::shared_ptr<const Iteration> part_of(const Iteration& iteration) const;
  Has state_of(std::int64_t number, const Partial& partial, const MayCome& may_come) const;
  Has state_of(std::size_t input, std::int64_t number, const Partial& partial,
               const MayCome& may_come) const;
  Has state_of_past(const ModuleInput& input, std::int64_t number, const MayCome& may_come) const;
  static bool is_whole(const ModuleInput& input, const std::vector<Publication>& all);
  static std::vector<Publication> take_past(const ModuleInput& input, std::int64_t until,
                                            Past* past);
  bool is_store(const std::string& source) const;
  std::optional<std::int64_t> before(std::int64_t number, std::int64_t tokens) const;
  ScriptJob job_of(std::int64_t number, Partial partial);

  std::shared_ptr<const ModulePlan> plan_;
  const model::Model& model_;
  std::vector<std::uint32_t> variables_;
  std::vector<StampFilter> filters_;  // by input
  std::map<std::int64_t, Partial> partials_;
  std::vector<Past> past_;                        // by input
  std::vector<std::vector<Publication>> newest_;  // by input, of greedy ones: one of each source
  std::set<std::int64_t> seen_;                   // the last iterations, as many as tokens need
  std::int64_t most_tokens_ = 0;
  std::uint64_t given_up_ = 0;
};

}  // namespace leat::server

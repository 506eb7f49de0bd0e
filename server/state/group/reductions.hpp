// SPDX-License-Identifier: Apache-2.0
// Reductions of plugins and scripts over all servers of the run.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/state/group/run_rounds.hpp"

namespace leat::server {

// Plugins and scripts are on threads of their own, and rounds are the engine's: here they contribute from
// any thread, and the engine takes it in its next step. It also contributes nothing in the place of those
// that others wait for and that will not contribute any more: their call has failed, their iteration was
// skipped, or they are not here. So whoever contributes gets an outcome. What is known before others wait, as
// when this server drops an iteration, is said at once.
class Reductions {
 public:
  /// Called in the engine's thread, once; must be quick.
  using Done = RunRounds::Done;
  /// Somebody of this server may contribute to this channel yet, in an iteration from `first` to `last`. When it says
  /// no, whatever was contributed to them has been.
  using MayCome = std::function<bool(std::uint64_t channel, std::int64_t first, std::int64_t last)>;

  /// This server among those of the run.
  struct Place {
    comm::Rank self = 0, servers = 1;
    comm::Rank first = 0;  ///< the lowest that lives
  };

  /// `wake`: the engine has something to do.
  Reductions(RunRounds& rounds, std::function<void()> wake)
      : rounds_(rounds), wake_(std::move(wake)) {}

  // From any thread

  /// As RunRounds::contribute(), when it is known which server this is: `columns` makes them then.
  void contribute(const comm::Round& round, std::function<comm::Columns(comm::Rank self)> columns,
                  Done done);
  void contribute(const comm::Round& round, comm::Columns columns, Done done) {
    contribute(
        round, [columns = std::move(columns)](comm::Rank) { return columns; }, std::move(done));
  }
  /// Nobody here contributes to this channel of scripts in this iteration.
  void leave_out(std::uint64_t channel, std::int64_t iteration);
  /// Nothing until the other servers are known.
  std::optional<Place> place() const;
  /// By what this server and the others prove to each other who they are, and where it can be reached. What place() is there, it is.
  struct Contact {
    std::string credential{};              ///< comm::Credential::text(): a secret
    std::vector<std::string> addresses{};  ///< of this node
  };
  Contact contact() const;
  bool has_news() const noexcept { return has_news_.load(std::memory_order_relaxed); }

  // From the engine's thread

  /// Once, before anybody knows the others.
  void set_contact(Contact contact);
  /// At the beginning, and every now and then.
  void look_who_is_there();
  /// No script of this server is called with this iteration.
  void leave_out_iteration(std::int64_t iteration);
  /// `awaited`: of RunRounds::take_awaited(); those of other channels are not looked at.
  void advance(const std::vector<comm::Round>& awaited, const MayCome& may_come);
  /// In its place when nothing more comes of this server: it ends its part in channels that others wait for.
  void end(const std::vector<comm::Round>& awaited);

 private:
  struct Contribution {
    comm::Round round;
    std::function<comm::Columns(comm::Rank)> columns;
    Done done;
  };
  void contribute_what_came();
  bool is_known(std::uint64_t channel) const;
  void take_left_out();
  void contribute_left_out(const MayCome& may_come);

  RunRounds& rounds_;
  std::function<void()> wake_;
  std::set<comm::Round> awaited_;  // by others
  std::map<std::uint64_t, std::set<std::int64_t>>
      left_out_;                    // by channel: iterations, not said yet
  std::set<std::int64_t> dropped_;  // iterations, the last ones
  mutable std::mutex mutex_;
  std::vector<Contribution> came_;
  std::vector<std::pair<std::uint64_t, std::int64_t>> came_left_out_;  // channels and iterations
  std::optional<Place> place_;
  Contact contact_;
  std::atomic<bool> has_news_{false};  // only asked in loops: the mutex orders the rest
};

/// What a store may do one after the other in an iteration: reduce, and with its outcome reduce again.
inline constexpr std::uint32_t kMostReductionSteps = 16;
/// The channel of a store, by its place in the model. Each step has its own, so that numbers grow in
/// it though the next iteration begins before a step of this one does.
std::uint64_t channel_of_store(std::uint32_t store, std::uint32_t step);
/// The store whose channel it is; nothing when it is a script's.
std::optional<std::uint32_t> store_of(std::uint64_t channel);
/// The channel of a function of a script: a hash of their names, which all servers have without
/// asking each other. Two functions of a run that have the same cannot be loaded both.
std::uint64_t channel_of_script(std::string_view script, std::string_view function);

}  // namespace leat::server

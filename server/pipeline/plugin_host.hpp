// SPDX-License-Identifier: Apache-2.0
// What the server offers to one plugin: log, ledger, progress, and to publish what it has made.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/include/plugin.h"
#include "server/state/group/run_rounds.hpp"
#include "server/state/group/turns.hpp"
#include "server/state/iterations/iteration.hpp"
#include "server/state/parameters/steering.hpp"
#include "server/state/run.hpp"

namespace leat::server {

/// What a plugin reduces over the servers of the run.
struct PluginReduction {
  comm::Round round;  ///< its channel is the step: 0 in iteration(), 1 in what comes of that, ...
  comm::Columns columns;
  int (*done)(void* user, const leat_reduction* outcome);
  void* user;

  std::int64_t iteration() const { return iteration_of(round); }
};

class PluginHost {
 public:
  /// reduced: with what a reduction has come to.
  enum class Call { iteration, results, reduced, other };
  using Reduce = std::function<void(std::shared_ptr<const PluginReduction>)>;
  using TakeTurn = std::function<Turns::Turn(std::int32_t files)>;

  /// `store`: what the log and its products call it. `publishes`: what it may publish, as the XML
  /// says; none: what it likes, of iterations only.
  PluginHost(std::string store, std::vector<std::string> publishes, std::shared_ptr<Log> log,
             ServerMpi mpi = {});
  PluginHost(const PluginHost&) = delete;

  /// For the plugin, as long as this lives.
  const leat_host* abi() const noexcept { return &abi_; }

  /// What the plugin gets when it asks for the ledger; from the thread that calls the plugin.
  void show_ledger(std::function<std::string()> ledger) { ledger_ = std::move(ledger); }
  /// Called from the plugin's threads whenever it has got something done.
  void report_progress(std::function<void()> progress) { progress_ = std::move(progress); }

  /// Once, before open(): what it reduces goes there, and its outcome comes by PluginInstance::reduced(). Without it: what
  /// this server has is all there is.
  void reduce_by(Reduce reduce) { reduce_ = std::move(reduce); }
  /// Once, before open(): how it gets its turn among the servers of the run. `always`: it is called in its turn alone;
  /// else it asks for it. Without it: it never waits, and has its files for itself.
  void take_turns_by(TakeTurn take, bool always) {
    take_turn_ = std::move(take);
    always_in_turn_ = always;
  }
  /// Nor can it ask.
  void never_reduces() noexcept { abi_.reduce = nullptr; }
  void never_steers() noexcept { abi_.set = nullptr; }
  /// What it has asked for since the last call. From any thread.
  std::vector<SteeringRequest> take_steering();

  /// The plugin is about to be called: what it said before is forgotten.
  void call_begins(Call call = Call::other, std::int64_t iteration = 0);
  /// Around calls in which it may write: its turn, if it has taken one, ends with them.
  class InTurn {
   public:
    explicit InTurn(PluginHost& host) : host_(host) {
      if (host.always_in_turn_) host.turn_ = host.take_turn_(0);
    }
    InTurn(const InTurn&) = delete;
    ~InTurn() { host_.turn_ = Turns::Turn(); }

   private:
    PluginHost& host_;
  };
  /// The last error that it has said in this call, or "".
  std::string last_error() const;
  /// The call has failed: what it published and reduced in it is dropped.
  void call_failed();
  /// The call has succeeded: what it has reduced is on its way. "", or how what it does with the outcome has
  /// failed, where that is there at once.
  std::string send_reductions();
  /// Calls done() with the outcome. "", or how it has failed.
  std::string deliver(const PluginReduction& reduction, const comm::Outcome& outcome,
                      comm::Rank self, comm::Rank servers);
  /// After that, and all that it has made of it.
  void was_delivered(const PluginReduction& reduction);
  /// From any thread: an outcome of one of these iterations is on its way, or at work.
  bool is_reducing(std::int64_t first, std::int64_t last) const;
  /// What it has published in this call: all together.
  std::optional<Publication> take_published() { return std::exchange(published_, {}); }

 private:
  static void log(void* self, int level, const char* message);
  static const char* ledger(void* self);
  static void progress(void* self, std::uint64_t bytes);
  static int publish(void* self, const leat_result_set* set, void (*release)(void*), void* memory);
  static void* mpi_comm(void* self);
  static int reduce(void* self, const leat_column* columns, std::uint64_t count,
                    std::uint64_t stride, int (*done)(void*, const leat_reduction*), void* user);
  static std::int32_t shared_file(void* self, std::int32_t files);
  static int set(void* self, const leat_parameter* parameter);
  void ask(comm::Columns columns, int (*done)(void*, const leat_reduction*), void* user);
  void add(const leat_result_set& set, std::shared_ptr<const void> memory);
  void expect_declared(const std::string& name) const;
  void say(int level, const std::string& message);

  std::string store_;
  std::vector<std::string> publishes_;
  std::shared_ptr<Log> log_;
  ServerMpi mpi_;
  leat_host abi_;
  std::function<std::string()> ledger_;
  std::function<void()> progress_;
  mutable std::mutex mutex_;  // of last_error_ and steering_: several threads log and ask
  std::string last_error_, shown_ledger_;
  std::vector<SteeringRequest> steering_;
  Call call_ = Call::other;
  std::int64_t iteration_ = 0;  // of the call
  std::optional<Publication> published_;

  TakeTurn take_turn_{};
  bool always_in_turn_ = false;
  Turns::Turn turn_{};

  // Reductions
  struct Calls {
    std::int64_t iteration = -1;
    std::uint32_t number = 0;
  };
  Reduce reduce_{};
  std::uint32_t step_ = 0;                                    // of the call
  std::map<std::uint32_t, Calls> calls_;                      // by step
  std::deque<std::shared_ptr<const PluginReduction>> asked_;  // in this call
  std::multiset<std::int64_t> under_way_;                     // iterations; with the mutex
};

}  // namespace leat::server

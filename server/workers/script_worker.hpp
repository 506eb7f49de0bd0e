// SPDX-License-Identifier: Apache-2.0
// What one thread does at its process: takes orders off the board, speaks to the process, and starts another one when it
// is gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "server/workers/script_board.hpp"
#include "server/workers/script_task.hpp"

namespace leat::server {

class ScriptWorker {
 public:
  /// `seat`: its number on the board.
  ScriptWorker(ScriptContext& context, ScriptSeat& seat, std::size_t index)
      : context_(context), board_(context.board), seat_(seat), index_(index) {}

  /// Until the board closes.
  void run();

 private:
  struct Order {
    enum class Kind { load, unload, run } kind = Kind::run;
    Script* script = nullptr;
    ScriptJob job;
  };

  void is_known(Script& script);
  bool next_order(Order* order);
  bool find_order(Order* order);
  bool may_run(const Script& script) const;
  void reap();
  bool is_replaced() const;
  void end_of_failed_module();
  void module_is_done();
  void ensure_guard();
  void prepare_module();
  std::string prepare_host(const ModulePlan& plan);
  bool ensure_runs();
  void process_died();

  void carry_out(Order& order);
  void unload(Script& script);
  ScriptFailure load(Script& script);
  ScriptFailure load_module(Script& script);
  void loaded(Script& script, Frame& answer);
  std::string why_channel_is_taken(const Script& script,
                                   const std::vector<ScriptFunction>& functions) const;
  std::string why_endless_with(const std::string& source,
                               const std::vector<ScriptFunction>& functions) const;
  Frame order_for(const Script& script, const ScriptJob& job) const;
  ScriptFailure run_script(Script& script, ScriptJob& job);
  void keep_apart(ScriptJob& job);
  void await_idle_core(std::optional<IdleGate::Place>* place);
  ScriptFailure converse(Script& script, const Frame& order, double seconds,
                         const Iteration* iteration, Frame* answer);
  std::optional<Frame> reply_to(Script& script, const Frame& message, const Iteration* iteration,
                                std::int64_t deadline_ns);
  static Frame contact_frame(const Reductions::Contact& contact);
  Frame reduce(Script& script, const Frame& message, std::int64_t iteration,
               std::int64_t deadline_ns);
  std::optional<Reductions::Place> await_place(std::int64_t deadline_ns);
  void take_message(const Script& script, Frame& message, const Iteration* iteration);
  void take_outputs(const Script& script, const Frame& message, const Iteration& iteration);
  void hand_over_outputs(const Iteration& iteration);
  void take_products(const Script& script, Frame& message, const Iteration& iteration);

  ScriptContext& context_;
  ScriptBoard& board_;
  ScriptSeat& seat_;
  std::size_t index_;
  std::string why_not_;            // a process cannot be started at all
  std::optional<ScriptJob> held_;  // its memory, until what goes to another host was copied
  bool interfered_ = false;        // how it ended: somebody killed or stopped it
};

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// New values for parameters while the run goes on: which are allowed, from which iteration on they hold, and who asked
// for them. Used by one thread, the event loop; nothing here waits. How all ranks of the node get a value in the same
// iteration is lib/shm/steering.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/model/model.hpp"
#include "lib/shm/segment.hpp"
#include "lib/shm/steering.hpp"

namespace leat::server {

/// What became of one set(), for the ledger.
struct AuditEntry {
  /// In `iteration`: a newer value took its place, or the ranks ended, before it was published.
  static constexpr std::int64_t kNever = -1;

  std::string parameter;
  std::string old_value;  ///< what ranks had, by an earlier set(), their own or the XML; "": none
  std::string new_value;
  std::int64_t iteration;  ///< the first one with the new value, on all ranks of this node
  std::string who;
  /// In each iteration, so far: there it takes the new value's place, once ranks are in it.
  bool simulation_sets_it = false;
};

/// A number, or a text as it is.
std::string text_of(const ParameterValue& value);

class Steering {
 public:
  using Value = ParameterValue;  ///< that is set

  /// The segment has been made for this model; both outlive this.
  Steering(const model::Model& model, const shm::Segment& segment);

  /// Gives a parameter a value as soon as possible: at best from the iteration after the next on.
  /// While ranks have yet to see an earlier value of the same parameter it is kept until they have,
  /// the newest only. Integers are good for real parameters too. "", or why it is refused.
  std::string set(const std::string& parameter, const Value& value, const std::string& who);
  /// The node's first rank has set it by itself, in this iteration.
  void was_set(std::uint32_t parameter, const Value& value, std::int64_t iteration);
  /// By that rank, and all before it.
  void iteration_ended(std::int64_t iteration) { ended_ = iteration; }

  // Of all servers of a run, which agree on an iteration (group/run_steering.hpp)

  /// "", or why no server can give it this value.
  std::string why_not(const std::string& parameter, const Value& value) const;
  /// Shows it to the ranks, for this iteration. False: a rank is less than `margin` iterations before
  /// it, or has yet to see an earlier value of the same parameter.
  bool propose(const std::string& parameter, const Value& value, std::int64_t effective,
               std::int64_t margin);
  /// It holds. False: a rank was in that iteration first, and goes on without it.
  bool commit(const std::string& parameter, const Value& value, std::int64_t effective,
              const std::string& who);
  void withdraw(const std::string& parameter);
  /// From where on ranks have its last value; -1: none was set.
  std::int64_t effective(const std::string& parameter) const {
    const std::optional<std::uint32_t> index = index_of(parameter);
    return index ? parameters_[*index].effective : -1;
  }

  /// Publishes what could not be published at once. To be called often; costs nothing when there is
  /// nothing to do.
  void advance();
  /// The slots are those of a server that has died. What it had proposed is withdrawn.
  void take_over();
  /// What the slots hold, whoever asked for it.
  std::vector<AuditEntry> committed() const;
  /// This client has finalized or died in `iteration`: it holds up nothing any more, and no value
  /// holds from an iteration on that it has been in without it. A client that has yet to come counts
  /// as one in iteration 0.
  void client_gone(std::uint32_t client, std::int64_t iteration);

  /// What was decided since the last call, in that order.
  std::vector<AuditEntry> take_audit();

 private:
  struct Request {
    Value value;
    std::string who;
  };
  struct Parameter {
    std::optional<Request> waiting;
    Value current;
    std::int64_t effective = -1;   // of what the slot holds, committed; -1: nothing was
    std::int64_t own = -2;         // the last iteration in which the simulation has set it
    bool is_own_in_a_row = false;  // and in the one before as well
    bool is_proposed = false;      // with other servers
  };

  std::string why_not(const std::string& name, const Value& value, std::uint32_t* index) const;
  std::optional<std::uint32_t> index_of(const std::string& parameter) const;
  void publish(std::uint32_t index);
  void took_effect(std::uint32_t index, std::int64_t effective, const Request& request);
  void drop(std::uint32_t index);
  std::int64_t latest_iteration() const noexcept;
  std::int64_t earliest_iteration() const noexcept;

  const model::Model& model_;
  const shm::Segment& segment_;
  shm::SteeringWriter writer_;
  std::vector<Parameter> parameters_;
  std::vector<std::uint32_t> live_;  // clients
  std::int64_t latest_of_gone_ = 0, ended_ = -1;
  std::size_t waiting_ = 0;  // how many parameters have a request
  std::vector<AuditEntry> audit_;
};

/// A script has called ctx.set, or somebody has asked for it over the control channel.
struct SteeringRequest {
  std::string who;  ///< the script's name, or "control/<process>"
  std::string parameter;
  Steering::Value value;
  bool of_node = false;   ///< meant for the ranks of one server, whatever others do
  bool is_event = false;  ///< `parameter` is an event, which is to happen
};

}  // namespace leat::server

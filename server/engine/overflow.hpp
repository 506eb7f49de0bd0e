// SPDX-License-Identifier: Apache-2.0
// The policy of a full buffer: who is served when ranks ask for memory, and what happens when there
// is none, as when-full says. Private to the engine's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "server/engine/dispatcher.hpp"

namespace leat::server {

class Overflow {
 public:
  Overflow(SessionState& session, Dispatcher& dispatcher)
      : session_(session), dispatcher_(dispatcher) {}

  /// To be called whenever memory may have become free, or be wanted.
  void serve();
  /// A client has asked.
  void request(const LeaseRequest& request);
  /// A client has waited in vain, and drops its iteration.
  void dropped_by_client(std::uint32_t client, std::int64_t iteration);
  /// An iteration that is not passed on yet is dropped, whole.
  void drop_open(std::int64_t iteration, const std::string& why);
  /// A simulation that waits for memory must not wonder why.
  void log_who_waits();

  /// A rank that had yet to come kept memory from one that was refused it.
  bool refused_for_absent() const noexcept { return refused_for_absent_; }
  bool is_expected_before(std::int64_t iteration) const;

 private:
  bool make_room();
  void give_up(const LeaseRequest& hopeless);
  void refuse_at_once(const LeaseRequest& request);
  bool drop_undecided(const LeaseRequest& request,
                      const std::function<bool(const Block&)>& is_constant);
  bool drop_waiting(const LeaseRequest& request);
  bool drop_requesting(const LeaseRequest& request,
                       const std::function<bool(const Block&)>& is_constant);
  void answer_dropped(std::int64_t iteration);
  void record_dropped(std::int64_t iteration, const std::string& why);
  bool drops() const noexcept;
  std::string who_holds_memory(const LeaseRequest& request) const;

  SessionState& session_;
  Dispatcher& dispatcher_;
  bool refused_for_absent_ = false;
};

}  // namespace leat::server

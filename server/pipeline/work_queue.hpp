// SPDX-License-Identifier: Apache-2.0
// What waits for the stores, in order: iterations that are complete, and what scripts have
// published.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

#include "server/state/iterations/iteration.hpp"
#include "server/state/spill/spiller.hpp"

namespace leat::server {

/// From any thread.
class WorkQueue final : public WaitingLine {
 public:
  void submit(Work work);
  /// A delivery comes, with the outcome of what a store has reduced. Its line does not end before; with too many of them on
  /// their way no iteration begins.
  void expect();
  /// It goes ahead of all that waits.
  void deliver(Delivery delivery);
  /// The call has been made.
  void delivered();
  /// Nothing comes any more.
  void close();
  /// Nobody waits for what is expected.
  void abandon();
  bool is_abandoned() const;

  // For the pipeline's thread
  /// Waits for the next; it is under way until finished(). False after the last.
  bool next(Work* work);
  void finished();
  /// Waits until `enough`, which is asked anew when something comes and at each nudge(), with
  /// whether somebody waits: an iteration, or a rank for memory.
  void await(const std::function<bool(bool somebody_waits)>& enough);
  /// Ranks wait for memory, or do no longer.
  void press(bool ranks_wait);
  /// From any thread.
  void nudge();

  // Iterations that wait, and that no store has begun
  /// Takes the oldest one out, and no store gets it.
  std::optional<Iteration> take_oldest(const Which& which);
  /// What ranks have written undeclared in this iteration.
  std::vector<Publication> take_undeclared(std::int64_t iteration);
  std::optional<Iteration> newest(const Which& which) const override;
  bool replace(Iteration iteration) override;
  /// Of the work that is under way, else of the first iteration that waits.
  std::optional<std::int64_t> first_number() const;
  std::size_t iterations_waiting() const;
  /// One of these iterations waits, or is under way, or something that was made of it is.
  bool has(std::int64_t first, std::int64_t last) const;

 private:
  std::size_t count_iterations() const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> waiting_;
  std::deque<Delivery> deliveries_;
  std::size_t expected_ = 0;  // deliveries, until the call is over
  std::optional<std::int64_t> under_way_;
  std::atomic<bool> ranks_wait_{false};  // the mutex orders it; without it for who sets it
  bool closing_ = false, abandoned_ = false;
};

}  // namespace leat::server

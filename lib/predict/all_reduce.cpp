// SPDX-License-Identifier: Apache-2.0
#include "lib/predict/all_reduce.hpp"

#include <algorithm>

namespace leat::predict {

RankClocks::RankClocks(const MessageCosts& costs, std::int64_t ranks, std::int64_t ranks_per_node,
                       const BurstSource* bursts)
    : costs_(costs),
      interruptions_(bursts, ranks, ranks_per_node),
      now_(static_cast<std::size_t>(ranks), 0),
      then_(now_) {
  if (costs_.gap_can_bind) may_send_ = may_receive_ = now_;
}

void RankClocks::compute(const ComputeTimes& times, std::int64_t collective) {
  for (std::size_t rank = 0; rank < now_.size(); ++rank) {
    const auto r = static_cast<std::int64_t>(rank);
    now_[rank] = interruptions_.done(r, now_[rank], times.of(r, collective));
  }
  const auto [first, last] = std::minmax_element(now_.begin(), now_.end());
  first_arrival_ = *first;
  last_arrival_ = *last;
}

void RankClocks::all_reduce() {
  const auto ranks = static_cast<std::int64_t>(now_.size());
  if (ranks == 1) return;
  for (std::size_t rank = 0; rank < now_.size(); ++rank) now_[rank] = send(rank, now_[rank]);
  for (std::int64_t distance = 1; distance < ranks; distance *= 2) {
    const bool is_last = distance >= ranks - distance;
    receive_from(0, distance, ranks - distance, is_last);
    receive_from(distance, ranks, -distance, is_last);
    now_.swap(then_);
  }
}

std::int64_t RankClocks::last() const { return *std::max_element(now_.begin(), now_.end()); }

// Ranks from `begin` to before `end`, each from the one `offset` further: almost always nothing
// interrupts them, and one comparison says so.
void RankClocks::receive_from(std::int64_t begin, std::int64_t end, std::int64_t offset,
                              bool is_last) {
  const std::int64_t* sent = now_.data();
  const std::int64_t* free_until = interruptions_.free_until();
  const std::int64_t sending = costs_.sending, latency = costs_.latency;
  const std::int64_t rest = costs_.overhead + costs_.receiving + (is_last ? 0 : costs_.overhead);
  for (std::int64_t r = begin; r < end; ++r) {
    std::int64_t done = std::max(sent[r] + sending, sent[r + offset] + latency) + rest;
    if (done > free_until[r] || costs_.gap_can_bind)
      done = receive(static_cast<std::size_t>(r), sent[r + offset], is_last);
    then_[static_cast<std::size_t>(r)] = done;
  }
}

// And the send that follows, unless there is none.
std::int64_t RankClocks::receive(std::size_t rank, std::int64_t sender_gone, bool is_last) {
  const auto r = static_cast<std::int64_t>(rank);
  const std::int64_t idle = interruptions_.done(r, now_[rank], costs_.sending);
  std::int64_t from = std::max(idle, sender_gone + costs_.latency);
  if (costs_.gap_can_bind) {
    from = std::max(from, may_receive_[rank]);
    may_receive_[rank] = from + costs_.send_gap;
  }
  const std::int64_t received = interruptions_.done(r, from, costs_.overhead) + costs_.receiving;
  return is_last ? received : send(rank, received);
}

std::int64_t RankClocks::send(std::size_t rank, std::int64_t from) {
  if (costs_.gap_can_bind) {
    from = std::max(from, may_send_[rank]);
    may_send_[rank] = from + costs_.send_gap;
  }
  return interruptions_.done(static_cast<std::int64_t>(rank), from, costs_.overhead);
}

}  // namespace leat::predict

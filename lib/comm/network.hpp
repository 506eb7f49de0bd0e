// SPDX-License-Identifier: Apache-2.0
// A server among those of its run, over the network: a thread that lends a Member its time and its links.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "lib/comm/links.hpp"
#include "lib/comm/member.hpp"
#include "lib/os/descriptor.hpp"

namespace leat::comm {

// Nothing here waits for the network but its own thread. Thread-safe.
class Network {
 public:
  struct Status {
    bool is_joined = false;
    bool has_left = false;
    Rank root = 0;
    std::string why_alone{};    ///< "": it is not
    std::string why_waiting{};  ///< why the server above it cannot be reached, or ""
    RankSet dead{};
    RankSet awaited{};          ///< in channel 0, at the last tick of Member
    std::uint64_t refused = 0;  ///< connections of strangers, and messages without a sense
    std::string why_refused{};
  };

  /// `wake` is called by its thread when there are outcomes, or the status has changed.
  Network(const MemberSettings& settings, std::unique_ptr<Links> links, std::function<void()> wake);
  /// The thread ends at once, whatever is under way; see leave().
  ~Network();

  /// As Member's. What is wrong with a round is seen when it has no outcome.
  void contribute(const Round& round, Columns columns);
  void confirm(std::int64_t sequence);
  void leave();
  void set_cards(std::vector<Card> cards);
  std::vector<Outcome> take_outcomes();
  Status status() const;
  /// Of a message: see Links.
  std::size_t most_bytes() const noexcept { return links_->most_bytes(); }

 private:
  using Order = std::function<void(Member*, Links*)>;

  void order(Order order);
  void work(const std::stop_token& stop);
  void carry_out_orders();
  void tell_links_who_is_gone();
  bool tick(std::int64_t now_ns);
  void give_to_member(LinkEvents events);
  void publish(bool has_ticked);

  Member member_;                 // of the thread
  std::unique_ptr<Links> links_;  // of the thread
  View told_;                     // of the thread: what links know
  std::uint64_t unread_ = 0;      // of the thread
  std::string why_unread_;        // of the thread
  std::function<void()> wake_;
  os::UniqueFd doorbell_;
  mutable std::mutex mutex_;
  std::vector<Order> orders_;
  std::vector<Outcome> outcomes_;
  Status status_;
  std::jthread thread_;
};

}  // namespace leat::comm

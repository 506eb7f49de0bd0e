// SPDX-License-Identifier: Apache-2.0
// A server among those of its run, over the network: a thread that lends a Member its time and its links.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "lib/comm/group.hpp"
#include "lib/comm/links.hpp"
#include "lib/comm/member.hpp"
#include "lib/os/descriptor.hpp"

namespace leat::comm {

// Nothing here waits for the network but its own thread. Thread-safe.
class Network final : public Group {
 public:
  /// `wake` is called by its thread when there are outcomes, or the status has changed.
  Network(MemberSettings settings, std::unique_ptr<Links> links, std::function<void()> wake);
  /// The thread ends at once, whatever is under way; see leave().
  ~Network() override;

  Rank self() const override { return self_; }
  Rank size() const override { return size_; }
  void contribute(const Round& round, Columns columns) override;
  std::vector<std::string> take_refusals() override;
  void confirm(std::int64_t sequence) override;
  void leave() override;
  void set_cards(std::vector<Card> cards);
  std::vector<Outcome> take_outcomes() override;
  bool has_news() const override { return has_news_.load(std::memory_order_relaxed); }
  std::vector<Round> take_awaited() override;
  Status status() const override;
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

  Rank self_, size_;
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
  std::vector<Round> awaited_;
  std::vector<std::string> refusals_;
  std::atomic<bool> has_news_{false};  // a hint: the mutex orders the rest
  Status status_;
  std::jthread thread_;
};

}  // namespace leat::comm

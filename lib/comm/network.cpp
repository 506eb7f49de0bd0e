// SPDX-License-Identifier: Apache-2.0
#include "lib/comm/network.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "lib/comm/running_clock.hpp"
#include "lib/os/clock.hpp"

namespace leat::comm {

Network::Network(MemberSettings settings, std::unique_ptr<Links> links, std::function<void()> wake)
    : self_(settings.self),
      size_(settings.size),
      member_(std::move(settings), os::now_ns()),
      links_(std::move(links)),
      wake_(std::move(wake)),
      doorbell_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      thread_([this](const std::stop_token& stop) { work(stop); }) {}

Network::~Network() {
  thread_.request_stop();
  order([](Member*, Links*) {});
}

void Network::order(Order order) {
  {
    const std::lock_guard lock(mutex_);
    orders_.push_back(std::move(order));
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t rung = write(doorbell_.get(), &one, sizeof one);
}

void Network::contribute(const Round& round, Columns columns) {
  order([this, round, all = std::move(columns)](Member* member, Links*) mutable {
    std::string why = member->contribute(round, std::move(all));
    // Who comes too late has been missed, and learns that by the view, as all others do.
    if (why.empty() || why == kRoundIsOver) return;
    const std::lock_guard lock(mutex_);
    refusals_.push_back(std::move(why));
  });
}

std::vector<std::string> Network::take_refusals() {
  const std::lock_guard lock(mutex_);
  return std::exchange(refusals_, {});
}

void Network::confirm(std::int64_t sequence) {
  order([sequence](Member* member, Links*) { member->confirm(sequence); });
}

void Network::leave() {
  order([](Member* member, Links*) { member->leave(); });
}

void Network::set_cards(std::vector<Card> cards) {
  order([all = std::move(cards)](Member*, Links* links) { links->set_cards(all); });
}

std::vector<Outcome> Network::take_outcomes() {
  const std::lock_guard lock(mutex_);
  has_news_.store(false, std::memory_order_relaxed);
  return std::exchange(outcomes_, {});
}

std::vector<Round> Network::take_awaited() {
  const std::lock_guard lock(mutex_);
  return std::exchange(awaited_, {});
}

Network::Status Network::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

void Network::work(const std::stop_token& stop) {
  RunningClock clock(os::now_ns());
  while (!stop.stop_requested()) {
    const std::int64_t now_ns = os::now_ns(), shown_ns = clock.at(now_ns);
    member_.set_time(shown_ns);
    carry_out_orders();
    const bool has_ticked = tick(shown_ns);
    for (const auto& [to, message] : member_.take_messages()) links_->send(to, bytes_of(message));
    links_->want(member_.wanted_link(), now_ns);
    tell_links_who_is_gone();
    publish(has_ticked);
    const std::int64_t until_ns = clock.moment_of(member_.next_tick_ns());
    clock.sleeps_until(std::min(until_ns, os::now_ns() + Links::kMostSleepNs));
    LinkEvents events = links_->poll(until_ns, doorbell_.get());
    member_.set_time(clock.at(os::now_ns()));
    give_to_member(std::move(events));
  }
}

void Network::tell_links_who_is_gone() {
  const View& view = member_.view();
  if (view.dead == told_.dead && view.left == told_.left) return;
  told_ = view;
  links_->set_gone(view.gone());
}

bool Network::tick(std::int64_t now_ns) {
  if (member_.next_tick_ns() > now_ns) return false;
  member_.tick();
  return true;
}

void Network::give_to_member(LinkEvents events) {
  for (LinkEvent& each : events) {
    switch (each.kind) {
      case LinkEvent::Kind::up:
        member_.connected(each.peer);
        break;
      case LinkEvent::Kind::down:
        member_.disconnected(each.peer);
        break;
      case LinkEvent::Kind::message:
        if (std::optional<Message> message = message_in(each.bytes)) {
          member_.receive(each.peer, std::move(*message));
        } else {
          ++unread_;
          why_unread_ =
              "server " + std::to_string(each.peer) +
              " says what this one does not understand: is it of another version of Leat?";
        }
    }
  }
}

void Network::carry_out_orders() {
  std::uint64_t rung = 0;
  [[maybe_unused]] const ssize_t heard = read(doorbell_.get(), &rung, sizeof rung);
  std::vector<Order> orders;
  {
    const std::lock_guard lock(mutex_);
    orders = std::exchange(orders_, {});
  }
  for (Order& each : orders) each(&member_, links_.get());
}

// What has changed is copied, not all of it at each turn. Who is awaited changes with each message: a tick is soon enough.
void Network::publish(bool has_ticked) {
  const auto update = [](auto* known, const auto& now) {
    if (*known == now) return false;
    *known = now;
    return true;
  };
  std::vector<Outcome> outcomes = member_.take_outcomes();
  const std::vector<Round> awaited = member_.take_awaited();
  bool is_news = !outcomes.empty() || !awaited.empty();
  {
    const std::lock_guard lock(mutex_);
    is_news |= update(&status_.is_joined, member_.is_joined());
    is_news |= update(&status_.has_left, member_.has_left());
    is_news |= update(&status_.view, member_.view());
    update(&status_.confirmed, member_.confirmed());
    is_news |= update(&status_.why_alone, member_.why_alone());
    update(&status_.why_waiting, links_->why_unreached());
    update(&status_.refused, links_->refused() + unread_);
    update(&status_.why_refused, unread_ ? why_unread_ : links_->why_refused());
    if (has_ticked) status_.awaited = member_.awaited(0);
    awaited_.insert(awaited_.end(), awaited.begin(), awaited.end());
    std::move(outcomes.begin(), outcomes.end(), std::back_inserter(outcomes_));
    is_news |= !refusals_.empty();
    if (is_news) has_news_.store(true, std::memory_order_relaxed);
  }
  if (is_news) wake_();
}

}  // namespace leat::comm

// SPDX-License-Identifier: Apache-2.0
#include "lib/comm/network.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <iterator>
#include <utility>

#include "lib/os/clock.hpp"

namespace leat::comm {

Network::Network(MemberSettings settings, TcpLinks links, std::function<void()> wake)
    : member_(std::move(settings), os::now_ns()),
      links_(std::move(links)),
      wake_(std::move(wake)),
      doorbell_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      thread_([this](const std::stop_token& stop) { work(stop); }) {}

Network::~Network() {
  thread_.request_stop();
  order([](Member*, TcpLinks*) {});
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
  order([round, all = std::move(columns)](Member* member, TcpLinks*) mutable {
    member->contribute(round, std::move(all));
  });
}

void Network::confirm(std::int64_t sequence) {
  order([sequence](Member* member, TcpLinks*) { member->confirm(sequence); });
}

void Network::leave() {
  order([](Member* member, TcpLinks*) { member->leave(); });
}

void Network::set_cards(std::vector<Card> cards) {
  order([all = std::move(cards)](Member*, TcpLinks* links) { links->set_cards(all); });
}

std::vector<Outcome> Network::take_outcomes() {
  const std::lock_guard lock(mutex_);
  return std::exchange(outcomes_, {});
}

Network::Status Network::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

void Network::work(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::int64_t now_ns = os::now_ns();
    member_.set_time(now_ns);
    carry_out_orders();
    if (member_.next_tick_ns() <= now_ns) member_.tick();
    for (const auto& [to, message] : member_.take_messages()) links_.send(to, bytes_of(message));
    links_.want(member_.wanted_link(), now_ns);
    publish();
    std::vector<LinkEvent> events = links_.poll(member_.next_tick_ns(), doorbell_.get());
    member_.set_time(os::now_ns());
    for (LinkEvent& each : events) {
      switch (each.kind) {
        case LinkEvent::Kind::up:
          member_.connected(each.peer);
          break;
        case LinkEvent::Kind::down:
          member_.disconnected(each.peer);
          break;
        case LinkEvent::Kind::message:
          if (std::optional<Message> message = message_in(each.bytes))
            member_.receive(each.peer, std::move(*message));
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
  for (Order& each : orders) each(&member_, &links_);
}

void Network::publish() {
  Status now;
  now.is_joined = member_.is_joined();
  now.has_left = member_.has_left();
  now.root = member_.view().root;
  now.why_alone = member_.why_alone();
  now.why_waiting = links_.why_unreached();
  now.dead = member_.view().dead;
  now.awaited = member_.awaited(0);
  now.refused = links_.refused();
  now.why_refused = links_.why_refused();
  std::vector<Outcome> outcomes = member_.take_outcomes();
  bool is_news = !outcomes.empty();
  {
    const std::lock_guard lock(mutex_);
    is_news = is_news || now.is_joined != status_.is_joined || now.why_alone != status_.why_alone ||
              now.dead != status_.dead || now.has_left != status_.has_left;
    status_ = std::move(now);
    std::move(outcomes.begin(), outcomes.end(), std::back_inserter(outcomes_));
  }
  if (is_news) wake_();
}

}  // namespace leat::comm

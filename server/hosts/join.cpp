// SPDX-License-Identifier: Apache-2.0
#include "server/hosts/join.hpp"

#include <signal.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/os/clock.hpp"
#include "lib/staging/cards.hpp"
#include "server/hosts/frames.hpp"

namespace leat::hosts {
namespace {

using nlohmann::json;

constexpr std::int64_t kTry = 5 * kSecond, kPause = kSecond / 2, kLookAtJoin = kSecond / 5;
// A module whose plan has changed comes again at once.
constexpr std::int64_t kLinger = 2 * kSecond;

volatile std::sig_atomic_t signals = 0;

// The second one does not wait for turns.
extern "C" void on_signal(int) {
  if (signals > 0) std::_Exit(1);
  signals = 1;
}

void tell(const std::string& text) { std::fprintf(stderr, "leat graph join: %s\n", text.c_str()); }

}  // namespace

void end_by_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  for (const int each : {SIGTERM, SIGINT}) sigaction(each, &action, nullptr);
}

int Join::run() {
  std::thread([this] { connect_always(); }).detach();
  std::int64_t since_ns = os::now_ns();  // in this state
  State before = State::waits;
  while (signals == 0) {
    os::sleep_ns(kLookAtJoin);
    const State now = look();
    if (std::exchange(before, now) != now) since_ns = os::now_ns();
    const std::int64_t for_ns = os::now_ns() - since_ns;
    const auto wait_ns = static_cast<std::int64_t>(options_.wait_seconds * 1e9);
    if ((now == State::over && for_ns > kLinger) || (now == State::waits && for_ns > wait_ns))
      break;
  }
  std::map<std::string, std::unique_ptr<JoinedModule>> modules;
  std::string why;
  {
    const std::lock_guard lock(mutex_);
    modules.swap(modules_);
    why = why_;
  }
  const bool has_failed = std::any_of(modules.begin(), modules.end(),
                                      [](const auto& each) { return each.second->has_failed(); });
  if (before == State::waits && signals == 0)
    tell("no run lets this host in, " + options_.name + ": " + why);
  modules.clear();  // what runs has time to end well
  return has_failed || (before == State::waits && signals == 0) ? 1 : 0;
}

// Over: all that there were have ended.
Join::State Join::look() {
  const std::lock_guard lock(mutex_);
  if (modules_.empty()) return State::waits;
  const auto is_over = [](const auto& each) { return each.second->is_over(); };
  const auto is_joined = [](const auto& each) { return each.second->is_joined(); };
  if (std::all_of(modules_.begin(), modules_.end(), is_over)) return State::over;
  return std::any_of(modules_.begin(), modules_.end(), is_joined) ? State::works : State::waits;
}

void Join::connect_always() {
  while (true) {
    if (!connect()) os::sleep_ns(kPause);
    const std::lock_guard lock(mutex_);
    if (!why_.empty() && std::exchange(said_, why_) != why_) tell("waits: " + why_);
  }
}

bool Join::connect() {
  const std::optional<comm::Offer> card = staging::card_named(options_.cards, options_.name);
  if (!card) {
    const std::lock_guard lock(mutex_);
    why_ = "there is no card " + options_.name + ".card in " + options_.cards +
           ": the run puts it there when it begins, and takes it away when it ends";
    return false;
  }
  const std::size_t colon = options_.at.rfind(':');
  if (colon != std::string::npos)
    return try_at(*card, options_.at.substr(0, colon),
                  static_cast<std::uint16_t>(std::atoi(options_.at.c_str() + colon + 1)));
  if (!address_.empty() && try_at(*card, address_, card->card.port)) return true;
  address_.clear();
  for (const std::string& each : card->card.addresses)
    if (try_at(*card, each, card->card.port)) return true;
  return false;
}

// Where somebody has answered before, one waits until a module has no host.
bool Join::try_at(const comm::Offer& card, const std::string& address, std::uint16_t port) {
  const Result<comm::Credential> credential = comm::Credential::from_text(card.credential);
  auto stream = credential ? comm::ByteStream::connect({address}, port, *credential,
                                                       address == address_ ? kForEver : kTry)
                           : credential.error();
  if (!stream) {
    const std::lock_guard lock(mutex_);
    why_ = stream.error().message + ". By a tunnel: ssh -L 4711:" + card.card.addresses.front() +
           ":" + std::to_string(card.card.port) + " NODE, and --at 127.0.0.1:4711";
    return false;
  }
  (*stream)->settle(false);
  address_ = address;
  take_in(std::move(*stream));
  return true;
}

void Join::take_in(std::unique_ptr<comm::ByteStream> stream) {
  constexpr std::uint64_t kNoData = 0;
  Frame first;
  if (receive_frame(*stream, &first, kNoData, kTry) != FrameStatus::frame) return;
  const json& module = member_of(first.head, "module");
  const std::string name = text_in(module, "name");
  const std::int64_t version =
      integer_of(member_of(member_of(first.head, "host"), "version")).value_or(0);
  if (version != kHostVersion || name.empty() || !member_of(module, "run").is_array()) {
    const std::string why =
        "this Leat and that of the run do not understand each other: install "
        "the same version here";
    send_frame(*stream, {{{"cannot", why}}, ""}, kTry);
    const std::lock_guard lock(mutex_);
    why_ = why;
    return;
  }
  const std::lock_guard lock(mutex_);
  why_.clear();
  std::unique_ptr<JoinedModule>& known = modules_[name];
  if (!known) known = std::make_unique<JoinedModule>(first.head);
  if (known->wants(first.head))
    known->go_on(std::move(stream), first.head);
  else
    parked_.push_back(std::move(stream));
}

}  // namespace leat::hosts

// SPDX-License-Identifier: Apache-2.0
// Server: how its loop waits, and what wakes it.
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>

#include "lib/platform/clock.hpp"
#include "lib/platform/readable.hpp"
#include "server/engine/server.hpp"

namespace leat::server {
namespace {

// On a core of its own the server looks for events this long before it sleeps: clients then need no
// system call.
constexpr std::int64_t kSpinNs = 50'000;
// After an event it sleeps for such short times at first, and its clients need not wake it when
// they end an iteration, which would cost them a system call. The longer of the two while another
// thread needs the core to store. After kNapsNs without an event it sleeps until it is woken.
constexpr std::int64_t kNapNs = 100'000, kLongNapNs = 1'000'000, kNapsNs = 100'000'000;
// How often time-dependent things are looked at while there is something to wait for.
constexpr int kTickMs = 500;
constexpr int kReportTickMs = 100;
void silence(int eventfd_descriptor) noexcept {
  std::uint64_t count = 0;
  const ssize_t got = ::read(eventfd_descriptor, &count, sizeof count);
  (void)got;
}

}  // namespace

// On a single core the pipeline's thread needs the time more: it frees memory.
bool Server::may_spin() const noexcept {
  return placement_.pinned && !closing_ && (held_.empty() || placement_.cpus.count() > 1);
}

bool Server::spin() noexcept {
  if (!may_spin()) return false;
  const std::int64_t until = platform::now_ns() + kSpinNs;
  do {
    if (somebody_speaks() || has_news()) return true;
    platform::relax();
  } while (platform::now_ns() < until);
  return false;
}

int Server::sleep_limit_ms() const noexcept {
  const bool all_here = std::all_of(clients_.begin(), clients_.end(),
                                    [](const ClientLink& c) { return c.is_here(); });
  const bool soon = take_until_ns_ != 0 || !all_here || leases_.somebody_waits() ||
                    ledger_file_.is_behind(ledger_) || drains_->any_here();
  return reports_.has_waiting() ? kReportTickMs : soon ? kTickMs : -1;
}

void Server::sleep() noexcept {
  // "I sleep" is visible before the rings are looked at once more, so that no event is missed.
  std::atomic<std::uint32_t>& sleeps = segment_.server_words().sleeps;
  sleeps.fetch_add(1, std::memory_order_seq_cst);
  if (!nap()) look_around(somebody_speaks() ? 0 : sleep_limit_ms());
  sleeps.fetch_add(1, std::memory_order_relaxed);
  give_up_on_absent();
  if (facts_.resumed) look_for_dead_among_away();
  if (drains_->any_here()) hurry_drains();
  // Scripts have time limits of their own: as long as they run, something gets done.
  if (scripts_.exists() && !scripts_.idle()) made_progress();
  say_who_waits();
}

// True when there is something to do. "I look again soon" is taken back before the rings are looked
// at for the last time, as "I sleep" is said before.
bool Server::nap() noexcept {
  if (!placement_.pinned || closing_ || leases_.somebody_waits()) return false;
  std::atomic<std::uint32_t>& naps = segment_.server_words().naps;
  naps.store(1, std::memory_order_seq_cst);
  const std::int64_t nap_ns = may_spin() ? kNapNs : kLongNapNs;
  bool woken = somebody_speaks();
  while (!woken && platform::now_ns() - last_event_ns_ < kNapsNs)
    woken = platform::is_readable_within(epoll_.get(), nap_ns) || somebody_speaks();
  naps.store(0, std::memory_order_seq_cst);
  if (woken) look_around(0);
  return woken;
}

bool Server::somebody_speaks() noexcept {
  // What those write who are gone is not taken: it must not keep the loop awake.
  return std::any_of(clients_.begin(), clients_.end(), [](ClientLink& client) {
    return client.phase() == ClientLink::Phase::attached && client.has_events();
  });
}

void Server::look_around(int limit_ms) {
  epoll_event events[64];
  const int count = epoll_wait(epoll_.get(), events, 64, limit_ms);
  for (int i = 0; i < count; ++i) on_wakeup(events[i].data.fd);
  if (take_until_ns_ != 0) watch_grace();
  say_reports(false);
}

void Server::on_wakeup(int fd) {
  if (fd == doorbell_.get() || fd == results_bell_.get()) {
    silence(fd);
  } else if (fd == listener_.get()) {
    accept_clients();
  } else if (fd == signals_.get()) {
    stop_on_signal();
  } else if (const auto connection =
                 std::find_if(greeting_.begin(), greeting_.end(),
                              [fd](const platform::UniqueFd& g) { return g.get() == fd; });
             connection != greeting_.end()) {
    platform::UniqueFd socket = std::move(*connection);
    greeting_.erase(connection);
    greet(std::move(socket));
  } else {
    for (ClientLink& client : clients_) {
      if (client.socket() == fd && !take_reports(client)) client_hung_up(client);
    }
  }
}

}  // namespace leat::server

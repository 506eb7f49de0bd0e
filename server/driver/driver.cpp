// SPDX-License-Identifier: Apache-2.0
#include "server/driver/driver.hpp"

#include <fmt/core.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "lib/os/clock.hpp"
#include "lib/os/descriptor.hpp"
#include "server/driver/restart.hpp"

namespace leat::server {

void Grace::begin(const std::string& who, std::int64_t now_ns) {
  who_ = who;
  const bool at_once = has_begun() || half_ns_ == 0;
  if (!at_once && !told_.empty()) {
    const std::string why = engine_.control().steer({who, told_, std::int64_t{1}});
    if (!why.empty()) log_.warn("parameter \"{}\" does not tell ranks of it: {}", told_, why);
  }
  take_until_ns_ = at_once ? now_ns : now_ns + half_ns_;
  scripts_until_ns_ = take_until_ns_ + half_ns_ / 2;
  engine_.announce_end();
  if (at_once) return engine_.drain(now_ns, who_);
  log_.warn(
      "shutdown requested by {}: Leat accepts data for {:.3g} s more, then stores it and ends "
      "(grace=\"...\" of <dedicated> is the time for both); this does not stop the simulation",
      who, static_cast<double>(half_ns_) / 1e9);
}

void Grace::watch(std::int64_t now_ns) {
  if (!has_begun()) return;
  if (now_ns >= take_until_ns_ && !engine_.status().all_gone) engine_.drain(now_ns, who_);
  if (now_ns >= scripts_until_ns_) engine_.abandon_scripts();
}

namespace {

using os::now_ns;

// However many events come, clients that arrive or die are seen to this often.
constexpr std::int64_t kLookAroundNs = 1'000'000;
// On a core of its own the server looks for events this long before it sleeps: clients then need no
// system call.
constexpr std::int64_t kSpinNs = 50'000;
// After an event it sleeps for such short times at first, and its clients need not wake it when
// they end an iteration, which would cost them a system call. The longer of the two while another
// thread needs the core to store. After kNapsNs without an event it sleeps until it is woken.
constexpr std::int64_t kNapNs = 100'000, kLongNapNs = 1'000'000, kNapsNs = 100'000'000;
// How often the grace is looked at.
constexpr int kGraceTickMs = 500;

void silence(int eventfd_descriptor) noexcept {
  std::uint64_t count = 0;
  const ssize_t got = ::read(eventfd_descriptor, &count, sizeof count);
  (void)got;
}

const char* name_of_signal(std::uint32_t number) { return number == SIGINT ? "SIGINT" : "SIGTERM"; }

os::UniqueFd event_descriptor() { return os::UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

}  // namespace

Driver::Driver(const model::Model& model, const shm::Segment& segment, Log& log, DriverParts parts)
    : model_(model),
      segment_(segment),
      log_(log),
      parts_(std::move(parts)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      doorbell_(event_descriptor()),
      results_bell_(event_descriptor()),
      transport_(std::move(parts_.listener), parts_.socket_path, doorbell_.get(),
                 [this](int descriptor) { watch(descriptor); }) {
  for (const int each : {doorbell_.get(), results_bell_.get(), parts_.signals, parts_.termination})
    watch(each);
}

void Driver::watch(int descriptor) noexcept {
  if (descriptor < 0) return;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = descriptor;
  epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event);
}

Driver::Hosted::Hosted(Engine& the_engine, Driver& driver)
    : engine(the_engine),
      grace(the_engine, driver.log_,
            static_cast<std::int64_t>(driver.model_.architecture.grace_seconds * 1e9),
            parameter_told_of_end(driver.model_)),
      run({the_engine, driver.model_, driver.segment_, driver.parts_.facts, driver.parts_.config,
           driver.log_, [this](const std::string& who) { grace.begin(who, now_ns()); }}),
      channel(run),
      control(std::move(driver.parts_.control_listener), channel) {}

void Driver::Hosted::pass_on_events() {
  if (run.pass_on_events(channel, now_ns())) control.wake();
}

int Driver::run(Engine& engine) {
  Hosted hosted(engine, *this);
  watch(hosted.control.descriptor());
  engine.start();
  std::int64_t looked_ns = now_ns();
  for (;;) {
    const std::int64_t begun_ns = now_ns();
    const bool busy = engine.step(begun_ns);
    hosted.pass_on_events();
    if (engine.is_done()) return finish(hosted);
    if (busy) last_event_ns_ = begun_ns;
    if (busy && begun_ns - looked_ns < kLookAroundNs) continue;
    if (busy) {
      look_around(hosted, 0);
    } else if (!spin(engine)) {
      sleep(hosted);
    }
    looked_ns = now_ns();
  }
}

int Driver::finish(Hosted& hosted) {
  const int status = hosted.engine.finish(now_ns());
  hosted.channel.end({{"status", status}}, now_ns());
  hosted.control.flush(now_ns());
  return status;
}

// ---- waiting ----

// On a single core the pipeline's thread needs the time more: it frees memory.
bool Driver::may_spin(const Engine& engine) const noexcept {
  return placement_.pinned && !engine.is_closing() &&
         (!engine.is_storing() || placement_.cpus.count() > 1);
}

bool Driver::spin(Engine& engine) const noexcept {
  if (!may_spin(engine)) return false;
  const std::int64_t until = now_ns() + kSpinNs;
  do {
    if (engine.has_work()) return true;
    os::relax();
  } while (now_ns() < until);
  return false;
}

void Driver::sleep(Hosted& hosted) noexcept {
  // "I sleep" is visible before the rings are looked at once more, so that no event is missed.
  std::atomic<std::uint32_t>& sleeps = segment_.server_state().sleeps;
  sleeps.fetch_add(1, std::memory_order_seq_cst);
  if (!nap(hosted)) look_around(hosted, hosted.engine.has_work() ? 0 : limit_ms(hosted));
  sleeps.fetch_add(1, std::memory_order_relaxed);
}

// True when there is something to do. "I look again soon" is taken back before the rings are looked
// at for the last time, as "I sleep" is said before.
bool Driver::nap(Hosted& hosted) noexcept {
  Engine& engine = hosted.engine;
  if (!placement_.pinned || engine.is_closing() || engine.somebody_waits()) return false;
  std::atomic<std::uint32_t>& naps = segment_.server_state().naps;
  naps.store(1, std::memory_order_seq_cst);
  const std::int64_t nap_ns = may_spin(engine) ? kNapNs : kLongNapNs;
  bool woken = engine.has_work();
  while (!woken && now_ns() - last_event_ns_ < kNapsNs)
    woken = os::is_readable_within(epoll_.get(), nap_ns) || engine.has_work();
  naps.store(0, std::memory_order_seq_cst);
  if (woken) look_around(hosted, 0);
  return woken;
}

int Driver::limit_ms(const Hosted& hosted) noexcept {
  const std::int64_t deadline = hosted.engine.next_deadline_ns();
  const int limit = deadline == Engine::kNever ? -1 : os::left_ms(deadline);
  if (!hosted.grace.has_begun()) return limit;
  return limit < 0 ? kGraceTickMs : std::min(limit, kGraceTickMs);
}

// ---- what wakes it ----

void Driver::look_around(Hosted& hosted, int limit_ms) {
  epoll_event events[64];
  const int count = epoll_wait(epoll_.get(), events, 64, limit_ms);
  for (int i = 0; i < count; ++i) on_readable(hosted, events[i].data.fd);
  hosted.grace.watch(now_ns());
}

void Driver::on_readable(Hosted& hosted, int descriptor) {
  if (descriptor == doorbell_.get() || descriptor == results_bell_.get())
    return silence(descriptor);
  if (descriptor == parts_.signals) return on_signal(hosted.grace);
  if (descriptor == parts_.termination) return on_number(hosted.grace);
  if (descriptor == hosted.control.descriptor()) {
    hosted.control.turn(now_ns());
    return hosted.pass_on_events();  // from here on, for who has just subscribed
  }
  Engine& engine = hosted.engine;
  transport_.on_readable(
      descriptor, {[&engine](const shm::Hello& hello, std::unique_ptr<shm::ToClient> connection) {
                     return engine.hello(now_ns(), hello, std::move(connection));
                   },
                   [&engine](std::uint32_t client) { engine.message(now_ns(), client); }});
}

void Driver::on_signal(Grace& grace) {
  signalfd_siginfo info{};
  const ssize_t got = ::read(parts_.signals, &info, sizeof info);
  if (got == sizeof info) grace.begin(name_of_signal(info.ssi_signo), now_ns());
}

void Driver::on_number(Grace& grace) const {
  unsigned char number = 0;
  const ssize_t got = ::read(parts_.termination, &number, sizeof number);
  if (got == sizeof number) grace.begin(name_of_signal(number), now_ns());
}

// ---- the host of the engine ----

void Driver::wake() noexcept {
  const std::uint64_t one = 1;
  const ssize_t written = ::write(results_bell_.get(), &one, sizeof one);
  (void)written;  // a full counter rings as well
}

node::RanksOfNode::Known Driver::ranks_of_node(const std::vector<os::CpuSet>& own) {
  parts_.ranks_of_node.note(own);
  return parts_.ranks_of_node.known(own);
}

void Driver::run_on(const node::Placement& placement) {
  placement_ = placement;
  if (!parts_.among_others) return os::set_affinity_of_process(placement.cpus);
  os::set_affinity(placement.cpus);
  executor_.bind(placement.cpus);
}

void Driver::tell_user(const std::string& text) { fmt::print(stderr, "leat: {}\n", text); }

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
#include "server/driver/in_process.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <optional>
#include <utility>

#include "lib/os/clock.hpp"

namespace leat::server {
namespace {

// The engine looks at what depends on time this often while somebody waits for it.
constexpr std::int64_t kSliceNs = 20'000'000;

}  // namespace

// What has been said and not yet heard. With the lock of the steps.
struct InProcess::Line {
  shm::Welcome welcome{};
  std::deque<shm::Report> reports;
  std::string offers;
  std::optional<shm::DrainReport> report;
  bool client_gone = false, server_gone = false;
};

// The server's end.
class InProcess::Client final : public shm::ToClient {
 public:
  explicit Client(std::shared_ptr<Line> line) : line_(std::move(line)) {}
  ~Client() override { line_->server_gone = true; }

  bool welcome(const shm::Welcome& welcome) override {
    line_->welcome = welcome;
    return true;
  }
  Received take(shm::Report* report, std::string* offers) override {
    if (line_->reports.empty()) return line_->client_gone ? Received::closed : Received::nothing;
    *report = line_->reports.front();
    if (report->number == shm::kIntroduction) *offers = std::exchange(line_->offers, {});
    line_->reports.pop_front();
    return Received::message;
  }
  bool drained(const shm::DrainReport& report) override {
    line_->report = report;
    return !line_->client_gone;
  }

 private:
  std::shared_ptr<Line> line_;
};

// The client's end.
class InProcess::Server final : public shm::ToServer {
 public:
  Server(InProcess& host, std::shared_ptr<Line> line, std::uint32_t index)
      : host_(host), line_(std::move(line)), index_(index) {}
  ~Server() override { close(); }

  void ring() noexcept override { host_.step(); }
  bool is_gone() noexcept override {
    const std::lock_guard<std::mutex> lock(host_.stepping_);
    return line_->server_gone;
  }
  bool report(const shm::Report& report) noexcept override {
    const std::lock_guard<std::mutex> lock(host_.stepping_);
    if (line_->server_gone) return false;
    line_->reports.push_back(report);
    host_.message(index_);
    return true;
  }
  bool introduce(const std::string& offers) noexcept override {
    {
      const std::lock_guard<std::mutex> lock(host_.stepping_);
      line_->offers = offers;
    }
    return report({shm::kIntroduction, 0, {}});
  }
  Received await(shm::DrainReport* report, std::int64_t limit_ns) noexcept override {
    const os::Deadline deadline = os::Deadline::in_ns(limit_ns);
    for (;;) {
      host_.step();
      if (const Received received = take(report); received != Received::nothing) return received;
      if (deadline.passed()) return Received::nothing;
      host_.await_wake(std::min(deadline.left_ns(), kSliceNs));
    }
  }
  void close() noexcept override {
    const std::lock_guard<std::mutex> lock(host_.stepping_);
    if (std::exchange(line_->client_gone, true) || line_->server_gone) return;
    host_.message(index_);
  }

 private:
  Received take(shm::DrainReport* report) {
    const std::lock_guard<std::mutex> lock(host_.stepping_);
    if (!line_->report) return line_->server_gone ? Received::closed : Received::nothing;
    *report = *line_->report;
    return Received::message;
  }

  InProcess& host_;
  std::shared_ptr<Line> line_;
  std::uint32_t index_;
};

InProcess::InProcess(const shm::Segment& segment, Clock clock)
    : segment_(segment), clock_(std::move(clock)) {}

InProcess::~InProcess() = default;

// It sleeps but where it is stepped: so clients ring for all that somebody waits for.
void InProcess::host(Engine& engine) {
  engine_ = &engine;
  segment_.server_state().sleeps.store(1, std::memory_order_seq_cst);
  engine.start();
}

Result<std::unique_ptr<shm::ToServer>> InProcess::attach(const shm::Hello& hello) {
  const std::lock_guard<std::mutex> lock(stepping_);
  if (!listens_) return Error{Status::ERROR_STATE, "the run has ended"};
  const auto line = std::make_shared<Line>();
  const std::optional<std::uint32_t> client =
      engine_->hello(clock_(), hello, std::make_unique<Client>(line));
  if (!client) return Error{static_cast<Status>(line->welcome.status), line->welcome.message};
  return std::unique_ptr<shm::ToServer>(new Server(*this, line, *client));
}

void InProcess::step() {
  const std::lock_guard<std::mutex> lock(stepping_);
  step_locked();
}

// The number of the sleep changes with each step: a client rings once for each.
void InProcess::step_locked() {
  if (status_ >= 0) return;
  segment_.server_state().sleeps.fetch_add(2, std::memory_order_seq_cst);
  while (engine_->step(clock_())) {
  }
  if (engine_->is_done()) status_ = engine_->finish(clock_());
}

void InProcess::message(std::uint32_t client) {
  if (status_ < 0) engine_->message(clock_(), client);
}

void InProcess::wake() noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  is_woken_ = true;
  woken_.notify_all();
}

bool InProcess::await_wake(std::int64_t limit_ns) {
  std::unique_lock<std::mutex> lock(mutex_);
  const bool came =
      woken_.wait_for(lock, std::chrono::nanoseconds(limit_ns), [this] { return is_woken_; });
  is_woken_ = false;
  return came;
}

void InProcess::tell_user(const std::string& text) { fmt::print(stderr, "leat: {}\n", text); }

}  // namespace leat::server

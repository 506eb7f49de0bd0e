// SPDX-License-Identifier: Apache-2.0
// What the ranks of the soak write down: one line for each call, into a file, at once, so that what a rank had been told
// survives its own death.
//
//   <kind> <iteration> <what> <status> <ns> <late> <error>
//
// late: ns that a thread of this process, which only sleeps, was late by at most during the call: the machine's, or a
// SIGSTOP's, not Leat's.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>

#include "client-api/api/leat.h"

namespace leat::soak {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kNap(10);
constexpr std::chrono::milliseconds kLong(100);

// The number in this word of the environment, else 0.
inline std::int64_t asked(const char* name) {
  const char* text = std::getenv(name);
  return text ? std::atoll(text) : 0;
}

inline std::int64_t ns(Clock::duration time) { return std::chrono::nanoseconds(time).count(); }

// How late the machine makes this process.
class Lateness {
 public:
  Lateness() : napper_([this] { nap(); }) {}
  ~Lateness() {
    ended_ = true;
    napper_.join();
  }
  void start() { worst_ = 0; }
  std::int64_t worst() const { return worst_; }

 private:
  void nap() {
    while (!ended_) {
      const Clock::time_point until = Clock::now() + kNap;
      std::this_thread::sleep_until(until);
      const std::int64_t late = ns(Clock::now() - until);
      if (late > worst_) worst_ = late;
    }
  }
  std::atomic<bool> ended_ = false;
  std::atomic<std::int64_t> worst_ = 0;
  std::thread napper_;
};

class Calls {
 public:
  explicit Calls(const char* path) : file_(open(path, O_WRONLY | O_CREAT | O_APPEND, 0644)) {}

  void line(const std::string& text) const {
    const std::string all = text + "\n";
    if (write(file_, all.data(), all.size()) != static_cast<ssize_t>(all.size())) std::abort();
  }

  // what: the first words of the line.
  template <class Call>
  leat_status make(const std::string& what, Call call) {
    lateness_.start();
    const Clock::time_point begin = Clock::now();
    const leat_status status = call();
    const Clock::duration took = Clock::now() - begin;
    if (took > kLong) std::this_thread::sleep_for(3 * kNap);  // the napper says how late it was
    std::string error = status < 0 ? leat_last_error() : "";
    for (char& c : error) c = c == '\n' ? '|' : c;
    line(what + " " + leat_status_name(status) + " " + std::to_string(ns(took)) + " " +
         std::to_string(lateness_.worst()) + " " + error);
    return status;
  }

 private:
  int file_;
  Lateness lateness_;
};

}  // namespace leat::soak

// SPDX-License-Identifier: Apache-2.0
// Whether the large pieces of an iteration go past the page cache or through it.
//
// Past it they take a seventh of the CPU time, but as long as the disk does. So with Io::automatic
// they begin to go there when nothing waits behind them, and keep on while that takes less than
// a quarter of the time from one iteration to the next: disks are slow at times, and at half of it
// the simulation was seen to wait. When it takes longer, or something waits, they go through the
// page cache from the next piece on, and the next try comes after a number of iterations that
// doubles: a try that fails costs that quarter and one piece at most.
//
// Knows no clock and no file: who writes says when, and how long it took.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace leat {

/// io="auto|buffered|direct".
enum class Io { automatic, buffered, direct };

/// Of an option's value; "" is the default, "buffered". Throws for what is none of them.
Io io_from(const std::string& text);

/// What is said where `path` cannot be written as Io::direct asks for, by that errno.
std::string why_not_direct(const std::string& path, int code);

class IoChoice {
 public:
  using Time = std::chrono::nanoseconds;

  explicit IoChoice(Io io) : io_(io), is_direct_(io == Io::direct) {}

  /// An iteration with large pieces begins; `waiting` more are behind it.
  void begin(Time now, std::uint64_t waiting);
  /// Whether the next piece goes past the page cache.
  bool is_direct() const { return is_direct_; }
  /// One has gone there.
  void wrote(Time took);
  /// It is not possible here, from now on.
  void give_up();

  /// What was chosen, as a sentence for the log; "" where all went as it was asked for.
  std::string summary() const;

  static constexpr int kFirstTry = 2;  ///< iterations before it
  static constexpr int kFirstPause = 16, kLongestPause = 256;

 private:
  void look(Time period, std::uint64_t waiting);
  void go_back(std::uint64_t* why);

  Io io_;
  bool is_direct_;
  Time begun_{0};                               // the last iteration
  Time most_{0};                                // that the pieces of an iteration may take
  Time spent_{0};                               // by those of this one
  int left_ = kFirstTry, pause_ = kFirstPause;  // iterations: before the next try, after that
  int stint_ = 0;                               // iterations that went past the page cache in a row
  std::uint64_t iterations_ = 0, direct_ = 0;
  std::uint64_t slow_ = 0, waited_ = 0;  // why it went back, how often
};

}  // namespace leat

// SPDX-License-Identifier: Apache-2.0
// The file of a trace: whole packets, in the order in which they were appended, written on a thread of its own. Nobody waits for
// the disk, and a server that is killed leaves all but the last milliseconds.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "lib/os/descriptor.hpp"
#include "server/state/run.hpp"

namespace leat::server {

class TraceFile {
 public:
  /// A file that has so many bytes takes no more: what opens it holds all of it in memory.
  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
  /// That wait for the disk. When more come, the trace ends.
  static constexpr std::uint64_t kMostWaiting = std::uint64_t{64} << 20;

  /// `goes_on`: what is there is of this run, and stays. Both limits are for tests.
  TraceFile(std::string path, os::UniqueFd file, bool goes_on, std::shared_ptr<Log> log,
            std::uint64_t most_bytes = kMostBytes, std::uint64_t most_waiting = kMostWaiting);
  TraceFile(const TraceFile&) = delete;
  ~TraceFile() { finish(); }

  void start(Executor& executor);
  /// Whole packets. From any thread; never waits for the disk.
  void append(std::string_view packets);
  /// Writes all there is, and takes no more.
  void finish();

 private:
  void run();
  void take_up();
  void write(const std::string& packets);
  void give_up(const std::string& why);

  const std::string path_;
  const os::UniqueFd file_;
  const bool goes_on_;
  const std::shared_ptr<Log> log_;
  const std::uint64_t most_bytes_, most_waiting_;
  std::uint64_t written_ = 0;  // the thread's
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string waiting_;
  bool closing_ = false;
  bool over_ = false;  // it takes no more
  std::jthread thread_;
};

}  // namespace leat::server

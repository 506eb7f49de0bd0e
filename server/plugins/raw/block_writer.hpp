// SPDX-License-Identifier: Apache-2.0
// Writes blocks to files, several at the same time: large ones on the way that IoChoice chooses, past
// the page cache or through it.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

#include "server/include/plugin.hpp"
#include "server/plugins/common/direct_io.hpp"
#include "server/plugins/common/io_choice.hpp"
#include "server/plugins/raw/buffers.hpp"

namespace leat::raw {

class BlockWriter {
 public:
  /// `name` of what is written to, for the log.
  BlockWriter(Io io, std::string name, leat::Host host);

  static bool is_large(std::uint64_t bytes) { return bytes >= DirectIo::kSmallest; }
  /// An iteration with large blocks begins; `waiting` more are behind it. No thread writes.
  void begin(std::uint64_t waiting);
  /// All of a block, there. 0 or an errno. From any thread.
  int write(int file, std::uint64_t at, const char* from, std::uint64_t bytes);

  /// As that of IoChoice.
  std::string summary() const { return choice_.summary(); }

 private:
  using Time = IoChoice::Time;

  int write_part(DirectIo* direct, int file, std::uint64_t at, const char* from,
                 std::uint64_t bytes);
  int copy_and_write(DirectIo* direct, int file, std::uint64_t at, const char* from,
                     std::uint64_t bytes);
  bool starts(DirectIo* direct, int file);
  void has_ended(const DirectIo& direct);
  void give_up(int code);

  Io io_;
  std::string name_;
  leat::Host host_;
  Buffers buffers_;
  std::mutex mutex_;  // of all below
  IoChoice choice_;
  int under_way_ = 0;  // parts past the page cache
  Time counted_{0};    // up to here IoChoice knows how long they took
};

}  // namespace leat::raw

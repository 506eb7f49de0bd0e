// SPDX-License-Identifier: Apache-2.0
// The index of a folder of raw files: JSON, a line for the run and one for each iteration, written when
// all of its bytes are in their files. What has no whole line is not there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "server/include/plugin.hpp"

namespace leat::raw {

/// Throws std::runtime_error where something cannot be done.
class Index {
 public:
  /// Of the folder. Locked: nobody else writes there.
  explicit Index(const std::string& folder);
  Index(const Index&) = delete;
  ~Index();

  /// A run has written here before.
  bool has_something() const;
  /// Goes on behind what is there; nothing where there is no iteration.
  struct Reached {
    std::int64_t iteration = 0;
    std::map<std::string, std::uint64_t> ends;  ///< of the files
  };
  std::optional<Reached> take_up();
  /// All at once: a line that is cut is taken away by who goes on.
  void append(const std::string& line, bool durable);

 private:
  [[noreturn]] void fail(const char* what) const;

  std::string path_;
  int fd_ = -1;
};

}  // namespace leat::raw

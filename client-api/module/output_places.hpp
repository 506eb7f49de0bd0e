// SPDX-License-Identifier: Apache-2.0
// The memory for what a module makes: places in a file that grows, found from its start on. A place is free again when nobody
// reads what lies there any more.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/os/descriptor.hpp"

namespace leat::module {

class OutputPlaces {
 public:
  static constexpr std::uint64_t kAlignment = 64;

  /// Of at most so many bytes, all of which get addresses now, and memory as they are used.
  OutputPlaces(os::UniqueFd file, std::uint64_t most);
  ~OutputPlaces();
  OutputPlaces(const OutputPlaces&) = delete;

  /// A place that is started: to be filled.
  Result<void*> start(std::uint64_t bytes);
  /// Where in the file it lies; from now on it is for others. Nothing where no place was started there, or a smaller one.
  std::optional<std::uint64_t> finish(const void* data, std::uint64_t bytes);
  void release(const std::vector<std::uint64_t>& offsets);
  /// Those that were started and never finished.
  void give_back();

 private:
  std::uint64_t place_for(std::uint64_t bytes) const;
  Result<void> grow(std::uint64_t least);
  std::uint64_t taken_bytes() const;

  os::UniqueFd file_;
  std::uint64_t most_, size_ = 0;
  char* start_ = nullptr;                         // null: it could not be mapped
  std::map<std::uint64_t, std::uint64_t> taken_;  // bytes by offset
  std::set<std::uint64_t> started_;
};

}  // namespace leat::module

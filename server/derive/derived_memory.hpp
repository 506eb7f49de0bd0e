// SPDX-License-Identifier: Apache-2.0
// Where derived blocks lie: files in memory, which scripts map too. One that nobody reads any more is used again.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "lib/os/shared_regions.hpp"
#include "server/state/iterations/iteration.hpp"

namespace leat::server {

class DerivedMemory : public std::enable_shared_from_this<DerivedMemory> {
 public:
  struct Piece : SharedFile {
    os::UniqueFd file;
    os::MappedRegion region;
    std::uint64_t bytes = 0;
  };

  /// Of at least so many bytes; free again with the last copy. From one thread.
  Result<std::shared_ptr<Piece>> take(std::uint64_t bytes);

 private:
  static constexpr std::size_t kMostFree = 4;

  static Result<std::unique_ptr<Piece>> make(std::uint64_t bytes);
  void give_back(std::unique_ptr<Piece> piece);

  std::mutex mutex_;
  std::vector<std::unique_ptr<Piece>> free_;
};

}  // namespace leat::server

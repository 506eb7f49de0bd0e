// SPDX-License-Identifier: Apache-2.0
#include "server/derive/derived_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "lib/base/text.hpp"

namespace leat::server {

Result<std::shared_ptr<DerivedMemory::Piece>> DerivedMemory::take(std::uint64_t bytes) {
  std::unique_ptr<Piece> piece;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    // None that is much too large: what is free may be what the next one needs.
    const auto fits = [bytes](const auto& each) {
      return each->bytes >= bytes && each->bytes / 2 <= bytes;
    };
    const auto found = std::find_if(free_.begin(), free_.end(), fits);
    if (found != free_.end()) {
      piece = std::move(*found);
      free_.erase(found);
    }
  }
  if (!piece) {
    Result<std::unique_ptr<Piece>> made = make(std::max<std::uint64_t>(bytes, 1));
    if (!made) return made.error();
    piece = std::move(*made);
  }
  return std::shared_ptr<Piece>(piece.release(), [memory = shared_from_this()](Piece* its) {
    memory->give_back(std::unique_ptr<Piece>(its));
  });
}

Result<std::unique_ptr<DerivedMemory::Piece>> DerivedMemory::make(std::uint64_t bytes) {
  const std::uint64_t whole = round_up(bytes, os::page_bytes());
  Result<os::UniqueFd> file = os::open_shared_file("");
  if (!file) return file.error();
  if (const Result<void> done = os::lengthen_file(file->get(), 0, whole); !done)
    return done.error();
  Result<os::MappedRegion> region = os::MappedRegion::map(file->get(), 0, whole);
  if (!region) return region.error();
  auto piece = std::make_unique<Piece>();
  piece->path = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file->get());
  piece->start = region->start();
  piece->file = std::move(*file);
  piece->region = std::move(*region);
  piece->bytes = whole;
  return piece;
}

void DerivedMemory::give_back(std::unique_ptr<Piece> piece) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (free_.size() >= kMostFree) free_.erase(free_.begin());
  free_.push_back(std::move(piece));
}

}  // namespace leat::server

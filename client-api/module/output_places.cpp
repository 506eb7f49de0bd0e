// SPDX-License-Identifier: Apache-2.0
#include "client-api/module/output_places.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/os/process.hpp"

namespace leat::module {
namespace {

// The first piece of the file.
constexpr std::uint64_t kFirstBytes = std::uint64_t{1} << 20;

}  // namespace

OutputPlaces::OutputPlaces(os::UniqueFd file, std::uint64_t most)
    : file_(std::move(file)), most_(most) {
  void* const start = mmap(nullptr, std::max<std::uint64_t>(most, 1), PROT_READ | PROT_WRITE,
                           MAP_SHARED, file_.get(), 0);
  if (start != MAP_FAILED) start_ = static_cast<char*>(start);
}

OutputPlaces::~OutputPlaces() {
  if (start_) munmap(start_, std::max<std::uint64_t>(most_, 1));
}

std::uint64_t OutputPlaces::taken_bytes() const {
  std::uint64_t sum = 0;
  for (const auto& [offset, bytes] : taken_) sum += bytes;
  return sum;
}

// The first gap that it fits into.
std::uint64_t OutputPlaces::place_for(std::uint64_t bytes) const {
  std::uint64_t at = 0;
  for (const auto& [offset, taken] : taken_) {
    if (offset - at >= bytes) break;
    at = round_up(offset + taken, kAlignment);
  }
  return at;
}

Result<void> OutputPlaces::grow(std::uint64_t least) {
  if (least <= size_) return {};
  const std::uint64_t size = std::min(most_, std::max({kFirstBytes, 2 * size_, least}));
  if (ftruncate(file_.get(), static_cast<off_t>(size)) != 0)
    return Error{Status::ERROR_MEMORY,
                 "there is no memory for what it makes: " + os::errno_text(errno)};
  size_ = size;
  return {};
}

Result<void*> OutputPlaces::start(std::uint64_t bytes) {
  if (!start_)
    return Error{Status::ERROR_MEMORY,
                 "the " + format_bytes(most_) + " of memory=\"...\" of <scripts> cannot be mapped"};
  if (bytes > most_)
    return Error{Status::ERROR_TOO_LARGE, "it has " + format_bytes(bytes) +
                                              ", and memory=\"...\" of <scripts> allows " +
                                              format_bytes(most_) + " for all that a module makes"};
  const std::uint64_t wanted = std::max<std::uint64_t>(bytes, 1), at = place_for(wanted);
  if (at > most_ || wanted > most_ - at)
    return Error{Status::ERROR_FULL,
                 "there is no room for " + format_bytes(bytes) +
                     " more: what others have yet to read takes " + format_bytes(taken_bytes()) +
                     " of the " + format_bytes(most_) + " that memory=\"...\" of <scripts> allows"};
  if (const Result<void> grown = grow(at + wanted); !grown) return grown.error();
  taken_[at] = wanted;
  started_.insert(at);
  return static_cast<void*>(start_ + at);
}

std::optional<std::uint64_t> OutputPlaces::finish(const void* data, std::uint64_t bytes) {
  const char* const at = static_cast<const char*>(data);
  if (!start_ || at < start_ || at >= start_ + size_) return std::nullopt;
  const auto offset = static_cast<std::uint64_t>(at - start_);
  if (!started_.count(offset) || bytes > taken_[offset]) return std::nullopt;
  started_.erase(offset);
  return offset;
}

void OutputPlaces::release(const std::vector<std::uint64_t>& offsets) {
  for (const std::uint64_t offset : offsets) taken_.erase(offset);
}

void OutputPlaces::give_back() {
  for (const std::uint64_t offset : started_) taken_.erase(offset);
  started_.clear();
}

}  // namespace leat::module

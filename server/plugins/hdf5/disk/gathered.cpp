// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/disk/gathered.hpp"

#include <sys/uio.h>

#include <iterator>

#include "server/plugins/common/whole_io.hpp"

namespace leat::hdf5 {
namespace {

// Larger ones gain nothing.
constexpr std::size_t kLargest = 256ull * 1024;
// With as many gaps they fit into one write (IOV_MAX is 1024).
constexpr std::size_t kMostPieces = 256;
constexpr std::size_t kMostOfGap = 8;
constexpr char kGap[kMostOfGap] = {};

}  // namespace

void Gathered::lend(const std::vector<LentRange>& ranges) {
  lent_.clear();
  gaps_.clear();
  for (const LentRange& range : ranges) {
    const auto* begin = static_cast<const char*>(range.begin);
    const char*& end = lent_[begin];
    if (!end || end < begin + range.bytes) end = begin + range.bytes;
  }
}

bool Gathered::fits(const void* from, std::size_t bytes) const {
  const auto* begin = static_cast<const char*>(from);
  const auto after = lent_.upper_bound(begin);
  return bytes <= kLargest && after != lent_.begin() && begin + bytes <= std::prev(after)->second;
}

bool Gathered::is_in_the_way(std::uint64_t address) const {
  return pieces_.size() == kMostPieces || (!pieces_.empty() && address < pieces_.back().end());
}

void Gathered::add(std::uint64_t address, const void* from, std::size_t bytes) {
  pieces_.push_back({address, from, bytes});
}

bool Gathered::touches(std::uint64_t address, std::size_t bytes) const {
  return !pieces_.empty() && address < pieces_.back().end() &&
         pieces_.front().address < address + bytes;
}

bool Gathered::follows(const Piece& piece, const Piece& before) const {
  if (piece.address == before.end()) return true;
  const auto gap = gaps_.find(before.end());
  return gap != gaps_.end() && gap->second == piece.address &&
         piece.address - before.end() <= kMostOfGap;
}

void Gathered::write(int file) {
  for (std::size_t first = 0, last = 0; first < pieces_.size(); first = last) {
    last = first + 1;
    while (last < pieces_.size() && follows(pieces_[last], pieces_[last - 1])) ++last;
    const int failed = write_run(file, first, last);
    if (failed_ == 0) failed_ = failed;
  }
  pieces_.clear();
}

int Gathered::write_run(int file, std::size_t first, std::size_t last) const {
  std::vector<iovec> parts;
  std::uint64_t at = pieces_[first].address;
  for (std::size_t i = first; i < last; ++i) {
    const Piece& piece = pieces_[i];
    if (piece.address > at) parts.push_back({const_cast<char*>(kGap), piece.address - at});
    parts.push_back({const_cast<void*>(piece.from), piece.bytes});
    at = piece.end();
  }
  const std::uint64_t begin = pieces_[first].address;
  if (last - first > 1 && ::pwritev(file, parts.data(), static_cast<int>(parts.size()),
                                    static_cast<off_t>(begin)) == static_cast<ssize_t>(at - begin))
    return 0;
  // One alone; or it was cut short, and each says for itself how it fares.
  int code = 0;
  for (std::size_t i = first; i < last; ++i) {
    const int failed = write_whole(file, pieces_[i].from, pieces_[i].bytes, pieces_[i].address);
    if (code == 0) code = failed;
  }
  return code;
}

}  // namespace leat::hdf5

// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/disk/changes.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace leat::hdf5 {
namespace {

template <class Map>
auto first_of(Map& changes, std::uint64_t address) {
  auto piece = changes.upper_bound(address);
  if (piece == changes.begin()) return piece;
  const auto before = std::prev(piece);
  return before->first + before->second.size() > address ? before : piece;
}

constexpr std::size_t kMostBytes = std::size_t{32} << 20;
// What does not change beside what does goes to the journal with it: it tells whether a file is the
// one that the journal is for.
constexpr std::size_t kBlock = 64;

// Blocks of a piece that are not `there`, those side by side as one.
void add_new_blocks(Changes* found, std::uint64_t address, const std::vector<unsigned char>& piece,
                    const unsigned char* there) {
  std::size_t begin = 0, end = 0;  // of the blocks at hand
  const auto add = [&] {
    if (end > begin) (*found)[address + begin].assign(&piece[begin], &piece[begin] + (end - begin));
  };
  for (std::size_t at = 0; at < piece.size(); at += kBlock) {
    const std::size_t bytes = std::min(kBlock, piece.size() - at);
    if (std::memcmp(&piece[at], there + at, bytes) == 0) continue;
    if (at != end) {
      add();
      begin = at;
    }
    end = at + bytes;
  }
  add();
}

}  // namespace

Changes::const_iterator first_over(const Changes& changes, std::uint64_t address) {
  return first_of(changes, address);
}

Changes::iterator first_over(Changes& changes, std::uint64_t address) {
  return first_of(changes, address);
}

// Pieces that overlap become one.
void put(Changes* changes, std::uint64_t address, const unsigned char* from, std::size_t bytes) {
  const auto there = first_over(*changes, address);
  if (there != changes->end() && there->first <= address &&
      there->first + there->second.size() >= address + bytes) {
    std::copy(from, from + bytes, there->second.data() + (address - there->first));
    return;
  }
  std::uint64_t begin = address;
  std::vector<unsigned char> joined(from, from + bytes);
  for (auto old = first_over(*changes, address);
       old != changes->end() && old->first < address + bytes; old = changes->erase(old)) {
    const auto& [at, piece] = *old;
    if (at < begin) {
      joined.insert(joined.begin(), piece.begin(),
                    piece.begin() + static_cast<std::ptrdiff_t>(begin - at));
      begin = at;
    }
    const std::uint64_t end = begin + joined.size();
    if (at + piece.size() > end) {
      joined.insert(joined.end(), piece.begin() + static_cast<std::ptrdiff_t>(end - at),
                    piece.end());
    }
  }
  (*changes)[begin] = std::move(joined);
}

bool touch(const Changes& changes, std::uint64_t address, std::size_t bytes) {
  const auto piece = first_over(changes, address);
  return piece != changes.end() && piece->first < address + bytes;
}

void make_in(unsigned char* read, const Changes& changes, std::uint64_t address,
             std::size_t bytes) {
  for (auto p = first_over(changes, address); p != changes.end() && p->first < address + bytes;
       ++p) {
    const std::uint64_t from = std::max(p->first, address);
    const std::uint64_t upto = std::min(p->first + p->second.size(), address + bytes);
    std::memcpy(read + (from - address), &p->second[from - p->first], upto - from);
  }
}

void ShadowCopy::note(std::uint64_t address, const unsigned char* from, std::size_t bytes) {
  if (!find(address, bytes)) bytes_ += bytes;
  put(&pieces_, address, from, bytes);
}

void ShadowCopy::forget(std::uint64_t address, std::size_t bytes) {
  for (auto p = first_over(pieces_, address); p != pieces_.end() && p->first < address + bytes;)
    p = pieces_.erase(p);
}

void ShadowCopy::forget_all() {
  pieces_.clear();
  bytes_ = 0;
}

void ShadowCopy::limit_size() {
  if (bytes_ > kMostBytes) forget_all();
}

// What lies side by side, and was not written as one, counts as not known.
const unsigned char* ShadowCopy::find(std::uint64_t address, std::size_t bytes) const {
  const auto piece = first_over(pieces_, address);
  const bool is_in = piece != pieces_.end() && piece->first <= address &&
                     piece->first + piece->second.size() >= address + bytes;
  return is_in ? piece->second.data() + (address - piece->first) : nullptr;
}

Changes ShadowCopy::missing_of(const Changes& pieces) const {
  Changes found;
  for (const auto& [address, piece] : pieces)
    add_new_blocks(&found, address, piece, find(address, piece.size()));
  return found;
}

}  // namespace leat::hdf5

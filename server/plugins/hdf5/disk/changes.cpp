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

}  // namespace leat::hdf5

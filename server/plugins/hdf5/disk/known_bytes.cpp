// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/disk/known_bytes.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace leat::hdf5 {
namespace {

constexpr std::size_t kMost = std::size_t{32} << 20;
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

void KnownBytes::note(std::uint64_t address, const unsigned char* from, std::size_t bytes) {
  if (!find(address, bytes)) bytes_ += bytes;
  put(&pieces_, address, from, bytes);
}

void KnownBytes::forget(std::uint64_t address, std::size_t bytes) {
  for (auto p = first_over(pieces_, address); p != pieces_.end() && p->first < address + bytes;)
    p = pieces_.erase(p);
}

void KnownBytes::forget_all() {
  pieces_.clear();
  bytes_ = 0;
}

void KnownBytes::keep_small() {
  if (bytes_ > kMost) forget_all();
}

// What lies side by side, and was not written as one, counts as not known.
const unsigned char* KnownBytes::find(std::uint64_t address, std::size_t bytes) const {
  const auto piece = first_over(pieces_, address);
  const bool is_in = piece != pieces_.end() && piece->first <= address &&
                     piece->first + piece->second.size() >= address + bytes;
  return is_in ? piece->second.data() + (address - piece->first) : nullptr;
}

Changes KnownBytes::missing_of(const Changes& pieces) const {
  Changes found;
  for (const auto& [address, piece] : pieces)
    add_new_blocks(&found, address, piece, find(address, piece.size()));
  return found;
}

}  // namespace leat::hdf5

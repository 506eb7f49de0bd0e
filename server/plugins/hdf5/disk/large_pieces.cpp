// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/disk/large_pieces.hpp"

#include <algorithm>
#include <chrono>

namespace leat::hdf5 {
namespace {

IoChoice::Time now() { return std::chrono::steady_clock::now().time_since_epoch(); }

}  // namespace

int LargePieces::choose(Io io) {
  choice_ = IoChoice(io);
  const int code = io == Io::direct ? direct_.open(file_) : 0;
  if (code != 0) choice_.give_up();
  return code;
}

void LargePieces::move_to(int file) {
  file_ = file;
  if (direct_.is_open() && direct_.open(file_) != 0) choice_.give_up();
}

std::optional<std::uint64_t> LargePieces::begin(const std::vector<LentRange>& blocks,
                                                std::uint64_t waiting) {
  const auto large = std::find_if(blocks.begin(), blocks.end(), [](const LentRange& block) {
    return block.bytes >= DirectIo::kSmallest;
  });
  if (large == blocks.end()) return {};
  choice_.begin(now(), waiting);
  if (choice_.is_direct() && !direct_.is_open() && direct_.open(file_) != 0) choice_.give_up();
  return choice_.is_direct() ? DirectIo::phase_of(large->begin) : 0;
}

int LargePieces::write(std::uint64_t address, const void* from, std::size_t bytes) {
  const IoChoice::Time begun = now();
  const int code = direct_.write(address, from, bytes);
  choice_.wrote(now() - begun);
  if (!direct_.is_open()) choice_.give_up();
  return code;
}

}  // namespace leat::hdf5

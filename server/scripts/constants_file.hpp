// SPDX-License-Identifier: Apache-2.0
// Copies of the blocks of variables that do not vary in time: their memory goes back to the
// simulation, while scripts want them at each iteration, and after a restart too.
#pragma once

#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "lib/platform/unique_fd.hpp"
#include "server/session/iteration.hpp"

namespace leat::server {

class ConstantsFile {
 public:
  ConstantsFile();
  int descriptor() const noexcept { return file_.get(); }

  /// Copies the block; one written again takes the place of the first.
  void keep(const Block& block);
  /// All that is kept; `lease` of each is its offset in the file.
  std::vector<Block> blocks() const;

 private:
  platform::UniqueFd file_;
  std::uint64_t end_ = 0;
  mutable std::mutex mutex_;
  std::map<std::tuple<std::uint32_t, std::int32_t, std::uint32_t>, Block> blocks_;
};

}  // namespace leat::server

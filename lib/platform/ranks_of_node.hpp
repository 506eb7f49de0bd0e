// SPDX-License-Identifier: Apache-2.0
// Where the ranks of a node may run, as its servers tell each other, so that none takes a core which
// another one's rank or server has: a file in the runtime folder, in which each server writes of its
// own ranks only. What it wrote counts as long as it lives. Nobody waits for anybody.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/platform/affinity.hpp"
#include "lib/platform/unique_fd.hpp"

namespace leat::platform {

class RanksOfNode {
 public:
  /// None has to be told of.
  RanksOfNode() = default;
  /// Nothing is known of this server's ranks from here on, whatever one before it wrote. Where the
  /// file cannot be had, nothing ever is.
  RanksOfNode(std::string path, int ranks, int server, int servers);
  RanksOfNode(RanksOfNode&& other) noexcept = default;
  RanksOfNode& operator=(RanksOfNode&& other) noexcept = default;
  /// The last one removes the file.
  ~RanksOfNode();

  /// Of this server's ranks, in order.
  void note(const std::vector<CpuSet>& own);
  /// Of all ranks in order, those of others as far as they are known: the others are empty sets.
  struct Known {
    std::vector<CpuSet> ranks;
    bool all = false;
  };
  Known known(const std::vector<CpuSet>& own) const;

 private:
  bool read(int rank, CpuSet* cpus) const;

  std::string path_;
  UniqueFd file_;  // each server that lives holds its byte of it
  int ranks_ = 0, server_ = 0, servers_ = 1;
};

}  // namespace leat::platform

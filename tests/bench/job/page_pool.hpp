// SPDX-License-Identifier: Apache-2.0
// A file whose pages are given back piece by piece as the job needs new ones, so that all ways of
// output get pages that the machine has touched before. A virtual machine that gives free memory
// back to its host pays ten times as much for others, and who comes first would pay.
#pragma once

#include <cstddef>
#include <string>

#include "lib/os/descriptor.hpp"

namespace leat::bench {

class PagePool {
 public:
  /// Removes the file and keeps its pages. "": a pool without any.
  explicit PagePool(const std::string& path);
  void give_back(std::size_t bytes);

 private:
  os::UniqueFd fd_;
  std::size_t left_ = 0;
};

}  // namespace leat::bench

// SPDX-License-Identifier: Apache-2.0
// A plain file with all that a view shows.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace leat::hdf5 {

struct MergeFacts {
  std::size_t datasets = 0;
  std::uint64_t bytes = 0;  ///< of values
  std::uint64_t iterations = 0;
  std::vector<std::string> left_out;  ///< of what ParaView is to see, and why
};

/// `done` of `all` bytes are copied.
using Progress = std::function<void(std::uint64_t done, std::uint64_t all)>;

/// Writes `to`, which appears when it is whole. What is there already is replaced with `replace`
/// only. Memory is bounded, whatever the sizes. Throws when `from` is no view, and when a part is
/// missing, which is named; then nothing is left behind.
MergeFacts merge_view(const std::string& from, const std::string& to, bool replace,
                      const Progress& progress);

}  // namespace leat::hdf5

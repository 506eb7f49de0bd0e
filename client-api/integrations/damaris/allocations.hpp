// SPDX-License-Identifier: Apache-2.0
// Blocks between damaris_alloc, commit and clear, which Damaris tells apart by their iteration.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

namespace leat::damaris {

class Allocations {
 public:
  static constexpr std::int64_t kAnyIteration = -1;

  int alloc(const char* variable, std::int32_t block, std::int64_t iteration, void** data);
  int commit(const char* call, const char* variable, std::int32_t block, std::int64_t iteration);
  int clear(const char* call, const char* variable, std::int32_t block, std::int64_t iteration);

 private:
  struct Allocation {
    std::int64_t iteration;
    bool committed;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };

  Allocation* find(const char* variable, std::int32_t block);

  /// The last one of each block. A program that never clears leaves one behind for each.
  std::unordered_map<std::string, std::map<std::int32_t, Allocation>, Hash, std::equal_to<>> last_;
};

}  // namespace leat::damaris

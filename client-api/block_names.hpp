// SPDX-License-Identifier: Apache-2.0
// Which variable and which block a call means, or what to say when there is none.
#pragma once

#include <array>
#include <cstdint>

#include "client-api/failures.hpp"
#include "client-api/variable_table.hpp"

namespace leat::client {

/// All return false with `*status`, that of the call, once they have complained.
class BlockNames {
 public:
  BlockNames(VariableTable& variables, Failures& failures)
      : variables_(variables), failures_(failures) {}

  bool find_variable(const Call& call, const char* name, std::uint32_t* variable, Status* status);
  bool find(const Call& call, const char* name, std::uint32_t block, std::uint32_t* variable,
            Status* status) {
    if (!find_at_once(name, block, variable))
      return find_or_complain(call, name, block, variable, status);
    return true;
  }
  /// The same for a call that would have handed data over: what has no name is lost too.
  bool find_to_write(const Call& call, const char* name, std::uint32_t block,
                     std::uint32_t* variable, Status* status) {
    return find_at_once(name, block, variable) || find_or_lose(call, name, block, variable, status);
  }
  /// Like find, and the list in C order: there must be as many numbers as dimensions.
  bool find_with_list(const Call& call, const char* name, std::uint32_t block,
                      const NumberList& list, std::uint32_t* variable,
                      std::array<std::int64_t, kMaxDims>* numbers, Status* status);

 private:
  bool find_at_once(const char* name, std::uint32_t block, std::uint32_t* variable) noexcept {
    const std::int64_t found = name && block <= kMostBlock ? variables_.find(name) : -1;
    *variable = static_cast<std::uint32_t>(found);
    return found >= 0;
  }
  bool find_or_complain(const Call& call, const char* name, std::uint32_t block,
                        std::uint32_t* variable, Status* status);
  bool find_or_lose(const Call& call, const char* name, std::uint32_t block,
                    std::uint32_t* variable, Status* status);

  VariableTable& variables_;
  Failures& failures_;
};

}  // namespace leat::client

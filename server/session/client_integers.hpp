// SPDX-License-Identifier: Apache-2.0
// The integers that one client has set, and since when: what shapes a block is what held when its
// event came, also for a server that takes over later.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/base/expression.hpp"
#include "lib/model/model.hpp"

namespace leat::server {

/// Values of all parameters at one time.
struct IntegersThen {
  std::vector<std::int64_t> values;
  std::vector<std::uint8_t> set;

  ParameterValues view() const noexcept { return {values.data(), set.data(), values.size()}; }
  bool put(std::uint32_t parameter, std::int64_t value) noexcept;
};

class ClientIntegers {
 public:
  struct Change {
    std::uint64_t event;  ///< of the client, counted from 1; 0: before all
    std::uint32_t parameter;
    std::int64_t value;
  };

  explicit ClientIntegers(const std::vector<model::Parameter>& parameters);

  /// True when that is news. A parameter that there is not is passed over.
  bool set(const Change& change);
  ParameterValues now() const noexcept { return now_.view(); }
  /// For a block that `event` has handed over.
  IntegersThen at(std::uint64_t event) const;
  /// All that a successor needs, from the oldest on.
  std::vector<Change> changes() const;

 private:
  IntegersThen base_, now_;
  std::vector<Change> changes_;  // of base_, in the order of their events
};

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// What every parameter is for this rank now: the XML's value, what the rank has set, or what was
// steered, whichever came last. Private to the process; called with the session's mutex held.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/shm/catalogue.hpp"
#include "lib/shm/steering.hpp"

namespace leat::client {

/// Numbers of shm::ParameterRecord::kind.
inline constexpr std::uint32_t kInteger = 1, kReal = 2, kText = 3;

class ParameterValues {
 public:
  explicit ParameterValues(const shm::Catalogue& catalogue);

  bool known(std::uint32_t parameter) const noexcept { return values_[parameter].known; }
  /// Of a parameter that is known and of this kind; integers are real numbers too.
  std::int64_t integer(std::uint32_t parameter) const noexcept;
  double real(std::uint32_t parameter) const noexcept;
  const std::string& text(std::uint32_t parameter) const noexcept;

  void set_integer(std::uint32_t parameter, std::int64_t value) noexcept;
  void set_real(std::uint32_t parameter, double value) noexcept;
  void set_text(std::uint32_t parameter, std::string_view value);
  void set_steered(std::uint32_t parameter, const shm::SteeredValue& value);

 private:
  struct Value {
    std::uint32_t kind = 0;
    bool known = false;
    std::int64_t integer = 0;
    double real = 0;
    std::string text;
  };

  std::vector<Value> values_;
};

}  // namespace leat::client

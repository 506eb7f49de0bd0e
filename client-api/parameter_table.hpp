// SPDX-License-Identifier: Apache-2.0
// The parameters of the XML, and what each is for this rank now: the XML's value, what the rank has
// set, or what was steered, whichever came last. Private to the process; called with the session's
// mutex held.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/shm/catalogue.hpp"
#include "lib/shm/steering.hpp"

namespace leat::client {

/// Numbers of shm::ParameterRecord::kind.
inline constexpr std::uint32_t kInteger = 1, kReal = 2, kText = 3;

class ParameterTable {
 public:
  /// `config`: the XML's path, for messages.
  ParameterTable(const shm::Catalogue& catalogue, std::string config);

  /// Index of the parameter, or -1.
  std::int64_t find(std::string_view name) const noexcept;
  /// `heat.xml declares no parameter "nz"; did you mean "nx"?`
  Error unknown(std::string_view name) const;
  const std::string& name(std::uint32_t parameter) const noexcept {
    return values_[parameter].name;
  }
  std::uint32_t kind(std::uint32_t parameter) const noexcept { return values_[parameter].kind; }

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
    std::string name;
    std::uint32_t kind = 0;
    bool known = false;
    std::int64_t integer = 0;
    double real = 0;
    std::string text;
  };

  std::string config_;
  std::vector<Value> values_;
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
};

}  // namespace leat::client

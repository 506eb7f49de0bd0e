// SPDX-License-Identifier: Apache-2.0
// The parameters of the XML, and what each is for this rank now: the XML's value, what the rank has
// set, or what was steered, whichever came last. Private to the process; called with the session's
// mutex held.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/base/scalar.hpp"
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
    return parameters_[parameter].name;
  }
  std::uint32_t kind(std::uint32_t parameter) const noexcept { return parameters_[parameter].kind; }

  const ParameterValue& value(std::uint32_t parameter) const noexcept {
    return parameters_[parameter].value;
  }
  /// Of the parameter's kind.
  void set(std::uint32_t parameter, ParameterValue value) {
    parameters_[parameter].value = std::move(value);
  }
  void set_steered(std::uint32_t parameter, const shm::SteeredValue& value);

 private:
  struct Parameter {
    std::string name;
    std::uint32_t kind = 0;
    ParameterValue value;
  };

  std::string config_;
  std::vector<Parameter> parameters_;
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
};

}  // namespace leat::client

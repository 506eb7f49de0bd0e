// SPDX-License-Identifier: Apache-2.0
// What leatd says to a module, decoded: once, what it is, then an order for each turn. Nothing is believed: what makes no
// sense is an Error.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/scalar.hpp"
#include "lib/base/status.hpp"

namespace leat::module {

struct OutputPort {
  std::string unit;                 ///< where a put says none
  std::vector<std::string> steers;  ///< parameters that get the number
};

/// The first frame.
struct Setup {
  std::string name;     ///< of the module
  std::string segment;  ///< path of the simulation's memory
  std::uint64_t most_output_bytes = 0;
  std::map<std::string, OutputPort> outputs;
  std::map<std::string, std::string> options;     ///< texts, and JSON of what is none
  std::map<std::string, std::string> parameters;  ///< of the XML, with their kinds
  std::string time_parameter;                     ///< "": the XML has no <time>
};

/// One array, and where it lies.
struct TurnPart {
  std::string memory;  ///< "segment", "constants", "order": behind the order itself; else a path
  std::uint64_t offset = 0, bytes = 0;
  ScalarType type{};
  std::vector<std::int64_t> extents;  ///< their product fits `bytes`
  std::vector<std::string> names;     ///< as many
  std::string unit;
  std::optional<std::string> source;
  std::int64_t iteration = 0;
  std::int32_t rank = -1, block = -1, level = -1;
  // As many as extents, or none.
  std::vector<std::int64_t> position, global, ghosts_before, ghosts_after;
};

struct Turn {
  std::int64_t iteration = 0;
  bool complete = false;
  std::map<std::string, ParameterValue> parameters;  ///< those that have a value
  std::map<std::string, std::vector<TurnPart>> ports;
  std::vector<std::uint64_t> released;  ///< offsets of what was put, and is read by nobody any more
};

Result<Setup> setup_of(const nlohmann::json& told);
/// `data_bytes`: of what is behind the order.
Result<Turn> turn_of(const nlohmann::json& order, std::uint64_t data_bytes);

/// Nothing where it is beyond all bounds, or an extent is negative.
std::optional<std::uint64_t> bytes_of(ScalarType type, const std::vector<std::int64_t>& extents);

}  // namespace leat::module

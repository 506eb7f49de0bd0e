// SPDX-License-Identifier: Apache-2.0
#include "client-api/module/turn_order.hpp"

#include <limits>
#include <stdexcept>
#include <utility>

#include "lib/frames/frame.hpp"

namespace leat::module {
namespace {

using nlohmann::json;

// What makes no sense ends the decoding.
[[noreturn]] void refuse(const char* key) {
  throw std::invalid_argument("\"" + std::string(key) + "\" is missing or makes no sense");
}

std::string text_of(const json& told, const char* key) {
  const json& value = member_of(told, key);
  if (!value.is_string()) refuse(key);
  return value.get<std::string>();
}

std::int64_t number_of(const json& told, const char* key) {
  const std::optional<std::int64_t> value = integer_of(member_of(told, key));
  if (!value) refuse(key);
  return *value;
}

std::uint64_t size_of(const json& told, const char* key) {
  const std::int64_t value = number_of(told, key);
  if (value < 0) refuse(key);
  return static_cast<std::uint64_t>(value);
}

/// -1 where it is not said.
std::int32_t rank_of(const json& told, const char* key) {
  if (member_of(told, key).is_null()) return -1;
  const std::int64_t value = number_of(told, key);
  if (value < 0 || value > std::numeric_limits<std::int32_t>::max()) refuse(key);
  return static_cast<std::int32_t>(value);
}

const json& list_of(const json& told, const char* key) {
  const json& list = member_of(told, key);
  if (!list.is_array()) refuse(key);
  return list;
}

// None where it is not said.
std::vector<std::int64_t> numbers_of(const json& told, const char* key, std::size_t count) {
  std::vector<std::int64_t> numbers;
  if (member_of(told, key).is_null()) return numbers;
  for (const json& each : list_of(told, key)) {
    const std::optional<std::int64_t> value = integer_of(each);
    if (!value) refuse(key);
    numbers.push_back(*value);
  }
  if (numbers.size() != count) refuse(key);
  return numbers;
}

std::vector<std::string> texts_of(const json& told, const char* key) {
  std::vector<std::string> texts;
  for (const json& each : list_of(told, key)) {
    if (!each.is_string()) refuse(key);
    texts.push_back(each.get<std::string>());
  }
  return texts;
}

void read_shape(const json& told, TurnPart* part) {
  const std::size_t dims = list_of(told, "extents").size();
  if (dims > kMaxDims) refuse("extents");
  part->extents = numbers_of(told, "extents", dims);
  if (bytes_of(part->type, part->extents) != part->bytes) refuse("bytes");
  part->names = texts_of(told, "dimensions");
  if (part->names.size() != dims) refuse("dimensions");
  part->position = numbers_of(told, "position", dims);
  part->global = numbers_of(told, "global", dims);
  part->ghosts_before = numbers_of(told, "ghosts_before", dims);
  part->ghosts_after = numbers_of(told, "ghosts_after", dims);
}

TurnPart part_of(const json& told, std::int64_t iteration, std::uint64_t data_bytes) {
  TurnPart part;
  part.memory = text_of(told, "memory");
  part.offset = size_of(told, "offset");
  part.bytes = size_of(told, "bytes");
  const std::optional<ScalarType> type = scalar_from_name(text_of(told, "type"));
  if (!type) refuse("type");
  part.type = *type;
  read_shape(told, &part);
  const bool is_behind = part.memory == "order";
  if (is_behind && (part.offset > data_bytes || part.bytes > data_bytes - part.offset))
    refuse("offset");
  part.unit = text_in(told, "unit");
  if (!member_of(told, "source").is_null()) part.source = text_of(told, "source");
  part.iteration = integer_of(member_of(told, "iteration")).value_or(iteration);
  part.rank = rank_of(told, "rank");
  part.block = rank_of(told, "block");
  part.level = rank_of(told, "level");
  return part;
}

std::map<std::string, ParameterValue> values_of(const json& told) {
  std::map<std::string, ParameterValue> values;
  if (!told.is_object()) return values;
  for (const auto& [name, value] : told.items()) {
    if (const std::optional<std::int64_t> integer = integer_of(value))
      values[name] = *integer;
    else if (value.is_number())
      values[name] = value.get<double>();
    else if (value.is_string())
      values[name] = value.get<std::string>();
  }
  return values;
}

OutputPort output_of(const json& told) {
  OutputPort port{text_in(told, "unit"), {}};
  if (!member_of(told, "steers").is_null()) port.steers = texts_of(told, "steers");
  return port;
}

std::string option_of(const json& value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, json::error_handler_t::replace);
}

Setup read_setup(const json& told) {
  const json& module = member_of(told, "module");
  Setup setup;
  setup.name = text_of(module, "name");
  setup.segment = text_of(told, "segment");
  setup.most_output_bytes = size_of(told, "memory");
  if (const json& outputs = member_of(module, "outputs"); !outputs.is_null()) {
    for (const json& each : list_of(module, "outputs"))
      setup.outputs[text_of(each, "port")] = output_of(each);
  }
  if (const json& options = member_of(module, "options"); options.is_object()) {
    for (const auto& [name, value] : options.items()) setup.options[name] = option_of(value);
  }
  if (!member_of(told, "parameters").is_null()) {
    for (const json& each : list_of(told, "parameters"))
      setup.parameters[text_of(each, "name")] = text_of(each, "kind");
  }
  if (!member_of(told, "time_parameter").is_null()) {
    const json& parameters = list_of(told, "parameters");
    const std::uint64_t number = size_of(told, "time_parameter");
    if (number >= parameters.size()) refuse("time_parameter");
    setup.time_parameter = text_of(parameters[number], "name");
  }
  return setup;
}

Turn read_turn(const json& order, std::uint64_t data_bytes) {
  if (text_of(order, "kind") != "turn") refuse("kind");
  Turn turn;
  turn.iteration = number_of(order, "iteration");
  const json& complete = member_of(order, "complete");
  turn.complete = complete.is_boolean() && complete.get<bool>();
  turn.parameters = values_of(member_of(order, "parameters"));
  for (const json& port : list_of(order, "ports")) {
    std::vector<TurnPart>& parts = turn.ports[text_of(port, "port")];
    for (const json& each : list_of(port, "parts"))
      parts.push_back(part_of(each, turn.iteration, data_bytes));
  }
  for (const json& each : list_of(order, "released")) {
    const std::optional<std::int64_t> offset = integer_of(each);
    if (!offset || *offset < 0) refuse("released");
    turn.released.push_back(static_cast<std::uint64_t>(*offset));
  }
  return turn;
}

template <class Decoded, class... Given>
Result<Decoded> decoded(Decoded (*read)(const json&, Given...), const json& told, Given... given) {
  try {
    return read(told, given...);
  } catch (const std::invalid_argument& e) {
    return Error{
        Status::ERROR_SERVER,
        std::string("what leatd says makes no sense, as with another version of it: ") + e.what()};
  }
}

}  // namespace

Result<Setup> setup_of(const json& told) { return decoded(read_setup, told); }

Result<Turn> turn_of(const json& order, std::uint64_t data_bytes) {
  return decoded(read_turn, order, data_bytes);
}

std::optional<std::uint64_t> bytes_of(ScalarType type, const std::vector<std::int64_t>& extents) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
  std::uint64_t bytes = scalar_bytes(type);
  bool is_empty = false;
  for (const std::int64_t extent : extents) {
    if (extent < 0) return std::nullopt;
    is_empty = is_empty || extent == 0;
  }
  if (is_empty) return 0;
  for (const std::int64_t extent : extents) {
    if (bytes > kMost / static_cast<std::uint64_t>(extent)) return std::nullopt;
    bytes *= static_cast<std::uint64_t>(extent);
  }
  return bytes;
}

}  // namespace leat::module

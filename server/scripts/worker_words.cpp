// SPDX-License-Identifier: Apache-2.0
#include "server/scripts/worker_words.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

namespace leat::server {
namespace {

using nlohmann::json;

// Null where there is none.
const json& member(const json& object, const char* key) {
  static const json none;
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

std::optional<std::int64_t> integer_of(const json& value) {
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) {
    return std::nullopt;
  }
  if (!value.is_number_integer()) return std::nullopt;
  return value.get<std::int64_t>();
}

std::optional<std::uint64_t> size_in(const json& object, const char* key) {
  const std::optional<std::int64_t> value = integer_of(member(object, key));
  if (!value || *value < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*value);
}

// Only those that may be one.
std::vector<std::uint32_t> indices_in(const json& list) {
  std::vector<std::uint32_t> indices;
  if (!list.is_array()) return indices;
  for (const json& each : list) {
    const std::int64_t index = integer_of(each).value_or(-1);
    if (index >= 0 && index <= std::numeric_limits<std::uint32_t>::max())
      indices.push_back(static_cast<std::uint32_t>(index));
  }
  return indices;
}

ScriptFunction function_of(const json& told) {
  ScriptFunction function;
  function.every = std::max<std::int64_t>(1, integer_of(member(told, "every")).value_or(1));
  const json& variables = member(told, "variables");
  function.all_variables = !variables.is_array();
  if (function.all_variables) return function;
  function.variables = indices_in(variables);
  function.beside = indices_in(member(told, "beside"));
  return function;
}

// False when it is no list of what is wanted, or too long.
bool read_shape(const json& told, ScriptArray* array) {
  const json &dimensions = member(told, "dimensions"), &extents = member(told, "extents");
  if (dimensions.size() != extents.size() || extents.size() > kMaxDims) return false;
  if (extents.empty()) return true;
  if (!dimensions.is_array() || !extents.is_array()) return false;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    const std::optional<std::int64_t> extent = integer_of(extents[d]);
    if (!extent || *extent < 0 || !dimensions[d].is_string()) return false;
    array->extents.push_back(*extent);
    array->dimensions.push_back(dimensions[d].get<std::string>());
  }
  return true;
}

// Extents beside one of 0 are bounded too: what a store computes from them must not overflow.
bool extents_make(const ScriptArray& array, std::uint64_t bytes) {
  std::uint64_t room = scalar_bytes(array.type);
  bool empty = false;
  for (const std::int64_t extent : array.extents) {
    empty = empty || extent == 0;
    const auto length = static_cast<std::uint64_t>(std::max<std::int64_t>(1, extent));
    if (__builtin_mul_overflow(room, length, &room)) return false;
  }
  if (room > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return false;
  return bytes == (empty ? 0 : room);
}

std::optional<ScriptArray> array_of(const json& told, std::size_t data_bytes) {
  const std::optional<ScalarType> type = scalar_from_name(text_in(told, "type"));
  const std::optional<std::uint64_t> offset = size_in(told, "offset"),
                                     bytes = size_in(told, "bytes");
  ScriptArray array;
  if (!type || !offset || !bytes || !read_shape(told, &array)) return std::nullopt;
  array.name = text_in(told, "name");
  array.unit = text_in(told, "unit");
  array.type = *type;
  array.offset = *offset;
  array.bytes = *bytes;
  const bool inside = array.offset <= data_bytes && array.bytes <= data_bytes - array.offset;
  if (!inside || !extents_make(array, array.bytes)) return std::nullopt;
  return array;
}

}  // namespace

std::string text_in(const json& head, const char* key, const char* otherwise) {
  const json& value = member(head, key);
  return value.is_string() ? value.get<std::string>() : otherwise;
}

std::vector<ScriptFunction> functions_in(const json& head) {
  std::vector<ScriptFunction> functions;
  const json& told = member(head, "functions");
  if (!told.is_array()) return functions;
  for (const json& each : told) functions.push_back(function_of(each));
  return functions;
}

Steering::Value value_in(const json& head) {
  const json& value = member(head, "value");
  if (const std::optional<std::int64_t> integer = integer_of(value)) return *integer;
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::vector<ScriptArray> arrays_in(const json& head, std::size_t data_bytes) {
  std::vector<ScriptArray> arrays;
  const json& told = member(head, "arrays");
  if (!told.is_array()) return arrays;
  for (const json& each : told) {
    if (auto array = array_of(each, data_bytes)) arrays.push_back(std::move(*array));
  }
  return arrays;
}

}  // namespace leat::server

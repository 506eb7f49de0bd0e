// SPDX-License-Identifier: Apache-2.0
#include "server/scripts/worker_words.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

namespace leat::server {
namespace {

using nlohmann::json;

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

std::vector<std::string> texts_in(const json& list) {
  std::vector<std::string> texts;
  if (!list.is_array()) return texts;
  for (const json& each : list) {
    if (each.is_string()) texts.push_back(each.get<std::string>());
  }
  return texts;
}

ScriptFunction function_of(const json& told) {
  ScriptFunction function;
  function.every = std::max<std::int64_t>(1, integer_of(member_of(told, "every")).value_or(1));
  function.products = texts_in(member_of(told, "products"));
  function.publishes = texts_in(member_of(told, "publishes"));
  function.events = indices_in(member_of(told, "events"));
  const json& variables = member_of(told, "variables");
  function.all_variables = !variables.is_array();
  if (function.all_variables) return function;
  function.variables = indices_in(variables);
  function.beside = indices_in(member_of(told, "beside"));
  return function;
}

}  // namespace

std::vector<ScriptFunction> functions_in(const json& head) {
  std::vector<ScriptFunction> functions;
  const json& told = member_of(head, "functions");
  if (!told.is_array()) return functions;
  for (const json& each : told) functions.push_back(function_of(each));
  return functions;
}

Steering::Value value_in(const json& head) {
  const json& value = member_of(head, "value");
  if (const std::optional<std::int64_t> integer = integer_of(value)) return *integer;
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace leat::server

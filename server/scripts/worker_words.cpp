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
  function.every = std::max<std::int64_t>(1, integer_of(member(told, "every")).value_or(1));
  function.products = texts_in(member(told, "products"));
  function.publishes = texts_in(member(told, "publishes"));
  function.events = indices_in(member(told, "events"));
  const json& variables = member(told, "variables");
  function.all_variables = !variables.is_array();
  if (function.all_variables) return function;
  function.variables = indices_in(variables);
  function.beside = indices_in(member(told, "beside"));
  return function;
}

// False when it is no list of what is wanted, or too long.
bool read_shape(const json& told, Product* product) {
  const json &dimensions = member(told, "dimensions"), &extents = member(told, "extents");
  if (dimensions.size() != extents.size() || extents.size() > kMaxDims) return false;
  if (extents.empty()) return true;
  if (!dimensions.is_array() || !extents.is_array()) return false;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    const std::optional<std::int64_t> extent = integer_of(extents[d]);
    if (!extent || *extent < 0 || !dimensions[d].is_string()) return false;
    product->extents.push_back(*extent);
    product->dimensions.push_back(dimensions[d].get<std::string>());
  }
  return true;
}

std::optional<Product> told_product(const json& told, const std::string& data) {
  const std::optional<ScalarType> type = scalar_from_name(text_in(told, "type"));
  const std::optional<std::uint64_t> offset = size_in(told, "offset"),
                                     bytes = size_in(told, "bytes");
  Product product;
  if (!type || !offset || !bytes || !read_shape(told, &product)) return std::nullopt;
  product.name = text_in(told, "name");
  product.unit = text_in(told, "unit");
  product.type = *type;
  product.bytes = *bytes;
  const bool inside = *offset <= data.size() && *bytes <= data.size() - *offset;
  if (!inside || !extents_make(product, *bytes)) return std::nullopt;
  product.data = data.data() + *offset;
  return product;
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

std::vector<Product> products_in(const json& head, const std::string& data) {
  std::vector<Product> products;
  const json& told = member(head, "arrays");
  if (!told.is_array()) return products;
  for (const json& each : told) {
    if (auto product = told_product(each, data)) products.push_back(std::move(*product));
  }
  return products;
}

}  // namespace leat::server

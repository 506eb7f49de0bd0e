// SPDX-License-Identifier: Apache-2.0
#include "server/workers/frames.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace leat::server {
namespace {

using nlohmann::json;

std::optional<std::uint64_t> size_in(const json& object, const char* key) {
  const std::optional<std::int64_t> value = integer_of(member_of(object, key));
  if (!value || *value < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*value);
}

// False when it is no list of what is wanted, or too long.
bool read_shape(const json& told, Product* product) {
  const json &dimensions = member_of(told, "dimensions"), &extents = member_of(told, "extents");
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

std::optional<Product> told_product(const json& told, std::string_view data) {
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
  if (const json& stamps = member_of(told, "stamps"); stamps.is_object())
    for (const auto& [name, value] : stamps.items())
      if (value.is_number()) product.stamps[name] = value.get<double>();
  return product;
}

}  // namespace

std::vector<Product> products_in(const json& head, std::string_view data) {
  std::vector<Product> products;
  const json& told = member_of(head, "arrays");
  if (!told.is_array()) return products;
  for (const json& each : told) {
    if (auto product = told_product(each, data)) products.push_back(std::move(*product));
  }
  return products;
}

json described(const Product& product, const std::string& name, std::size_t offset) {
  return {{"name", name},
          {"type", scalar_name(product.type)},
          {"unit", product.unit},
          {"dimensions", product.dimensions},
          {"extents", product.extents},
          {"offset", offset},
          {"bytes", product.bytes}};
}

void add_product(const Product& product, const std::string& name, std::size_t start, json* told,
                 std::string* data) {
  told->push_back(described(product, name, data->size() - start));
  data->append(static_cast<const char*>(product.data), product.bytes);
}

}  // namespace leat::server

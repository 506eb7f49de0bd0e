// SPDX-License-Identifier: Apache-2.0
// VariableTable: arrays that say what they are, against what the XML declares.
#include <algorithm>

#include "client-api/variable_table.hpp"

namespace leat::client {
namespace {

// "double" rather than "float64": the name that stands in most XML files.
const char* familiar_name(ScalarType type) {
  switch (type) {
#define LEAT_SCALAR(id, value, name, alias, bytes, numpy) \
  case ScalarType::id:                                    \
    return *alias ? alias : name;
#include "lib/base/scalar_types.def"
#undef LEAT_SCALAR
  }
  return "unknown";
}

std::string joined(std::vector<std::string> parts, bool reversed) {
  if (reversed) std::reverse(parts.begin(), parts.end());
  std::string text = "(";
  for (const std::string& part : parts) text += (text.size() > 1 ? ", " : "") + part;
  return text + ")";
}

}  // namespace

ScalarType VariableTable::type(std::uint32_t variable) const noexcept {
  return static_cast<ScalarType>(catalogue_.layouts()[layout_of(variable)].type);
}

std::uint32_t VariableTable::dims(std::uint32_t variable) const noexcept {
  return catalogue_.layouts()[layout_of(variable)].dims;
}

Error VariableTable::wrong_count(std::uint32_t variable, const NumberList& list) const {
  std::vector<std::string> names;
  for (const auto& dimension : catalogue_.dimensions_of(catalogue_.layouts()[layout_of(variable)]))
    names.emplace_back(catalogue_.text(dimension.name));
  const auto counted = [](std::size_t count, const char* what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
  };
  const std::size_t dims = names.size();
  return {Status::ERROR_ARGUMENT,
          title(variable) + " has " + counted(dims, "dimension") + " " +
              joined(std::move(names), list.column_major) + ": as many numbers are needed, and " +
              std::to_string(list.count) + (list.count == 1 ? " was given" : " were given")};
}

Error VariableTable::differs(Status status, std::uint32_t variable, const ArrayView& array,
                             const CallersWords& words) {
  const shm::LayoutRecord& record = catalogue_.layouts()[layout_of(variable)];
  const auto dimensions = catalogue_.dimensions_of(record);
  Error ignored;
  const LayoutShape* layout = layout_shape(layout_of(variable), &ignored);
  std::vector<std::string> declared, got;
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    const bool known = layout && !dimensions[d].varying;
    declared.push_back(std::string(catalogue_.text(dimensions[d].name)) + "=" +
                       (known ? std::to_string(layout->extent[d]) : "?"));
  }
  for (std::uint32_t d = 0; d < array.dims; ++d) got.push_back(std::to_string(array.extent[d]));
  const std::string type_name = words.type_name ? words.type_name : familiar_name(array.type);
  return {status, "\"" + std::string(name(variable)) + "\" is declared " +
                      familiar_name(type(variable)) + " " + joined(declared, words.column_major) +
                      " in " + std::string(catalogue_.text(record.where)) + ", got " + type_name +
                      " " + joined(got, words.column_major)};
}

const BlockShape* VariableTable::adopt(std::uint32_t variable, BlockState& state,
                                       const ArrayView& array, const CallersWords& words,
                                       Error* error) {
  const shm::LayoutRecord& record = catalogue_.layouts()[layout_of(variable)];
  if (array.type != type(variable)) {
    *error = differs(Status::ERROR_TYPE, variable, array, words);
    return nullptr;
  }
  const LayoutShape* layout = layout_shape(layout_of(variable), error);
  if (!layout) return nullptr;
  const auto dimensions = catalogue_.dimensions_of(record);
  bool fits = array.dims == record.dims, news = false;
  for (std::uint32_t d = 0; fits && d < array.dims; ++d) {
    const bool varies = dimensions[d].varying != 0;
    fits = array.extent[d] >= 0 && (varies || array.extent[d] == layout->extent[d]);
    news = news || (varies && (!state.has_extent || state.extent[d] != array.extent[d]));
  }
  if (!fits) {
    *error = differs(Status::ERROR_SHAPE, variable, array, words);
    return nullptr;
  }
  const Result<void> set =
      news ? set_extent(variable, state, array.extent.data(), words.column_major) : Result<void>();
  if (!set) {
    *error = set.error();
    return nullptr;
  }
  return shape(variable, state, error, words.column_major);
}

}  // namespace leat::client

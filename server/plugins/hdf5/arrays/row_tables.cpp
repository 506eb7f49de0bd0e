// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/arrays/row_tables.hpp"

#include <algorithm>
#include <cstring>

#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/conventions/coordinates.hpp"

namespace leat::hdf5 {
namespace {

// Texts are characters in the file, as many as the first has with room for longer ones: strings of
// any length lie in a heap that is changed in place, which a kill could leave half-written, and
// strings of one length make ncdump and nccopy crash. What is longer is cut.
constexpr std::size_t kLeastText = 128;

// Not in the middle of a character of UTF-8.
std::size_t cut_at(const char* text, std::size_t most) {
  std::size_t length = std::strlen(text);
  if (length <= most) return length;
  for (length = most; length > 0 && (text[length] & 0xC0) == 0x80;) --length;
  return length;
}

}  // namespace

ParameterTables::ParameterTables(const Target& target)
    : target_(target), group_(target.scales.take_name("parameters") + "/") {}

void ParameterTables::write(hsize_t row, const leat_iteration_data& data) {
  for (std::uint64_t i = 0; i < data.parameter_count; ++i) {
    const leat_parameter& parameter = *leat_parameter_at(&data, i);
    auto found = tables_.find(parameter.name);
    if (found == tables_.end())
      found =
          tables_.emplace(parameter.name, make(parameter, bundle_for(data.parameter_count))).first;
    Table& table = found->second;
    table.dataset.grow_to({row + 1, table.text_bytes});
    if (!parameter.has_value) continue;
    if (parameter.type == LEAT_CHAR) {
      write_text(table, row, parameter.text);
    } else {
      const void* value = parameter.type == LEAT_INT64
                              ? static_cast<const void*>(&parameter.integer)
                              : &parameter.real;
      table.dataset.write({row}, {1}, value);
    }
  }
}

ParameterTables::Table ParameterTables::make(const leat_parameter& parameter,
                                             std::uint64_t bundle) const {
  Table table;
  const bool is_text = parameter.type == LEAT_CHAR;
  const Id type = type_of(parameter.type);
  DatasetPlan plan = growing_list(0, std::max<hsize_t>(1, bundle / H5Tget_size(type)));
  if (is_text) {
    const hsize_t bytes = std::max(kLeastText, 2 * std::strlen(parameter.text));
    plan = {{0, bytes}, {true, false}, {std::max<hsize_t>(1, bundle / bytes), bytes}, {}, {}};
  } else {
    plan.fill = fill_value(parameter.type);
  }
  const std::string name = target_.scales.take_name(group_ + parameter.name);
  table.dataset = Dataset(target_.file, name, type, plan);
  target_.scales.attach_rows(table.dataset);
  if (is_text) {
    table.text_bytes = table.dataset.extents()[1];
    target_.scales.name(table.dataset, 1, {name + "_length", table.text_bytes});
  }
  if (table.dataset.is_new()) describe(table.dataset, parameter, plan.fill);
  return table;
}

void ParameterTables::describe(const Dataset& table, const leat_parameter& parameter,
                               const std::vector<std::uint8_t>& fill) const {
  const std::string name = parameter.name;
  set_attribute(table.id(), "leat_parameter", name);
  set_attribute(table.id(), "long_name", "parameter " + name + " at the end of the iteration");
  if (!fill.empty()) set_fill_attribute(table.id(), table.type(), fill);
  set_coordinates(table, coordinates_of_rows(target_.time, table.name()));
}

void ParameterTables::write_text(Table& table, hsize_t row, const char* text) {
  std::string padded(text, cut_at(text, table.text_bytes - 1));
  padded.resize(table.text_bytes, '\0');
  table.dataset.write({row, 0}, {1, table.text_bytes}, padded.data());
}

}  // namespace leat::hdf5

// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/xdmf/data_item.hpp"

#include <numeric>

#include "server/include/plugin.h"

#include "server/plugins/hdf5/base/objects.hpp"

namespace leat::hdf5::xdmf {
namespace {

struct NumberType {
  std::string name, bytes;
};

// Readers know no unsigned numbers of 64 bits: these are read as signed ones, up to half of them.
NumberType number_type(std::uint32_t scalar) {
  const Id type = type_of(scalar);
  const std::size_t bytes = H5Tget_size(type);
  const bool is_integer = H5Tget_class(type) == H5T_INTEGER;
  if (!is_integer && H5Tget_class(type) != H5T_FLOAT)
    throw std::runtime_error("XDMF has no such type");
  const bool is_unsigned = is_integer && H5Tget_sign(type) == H5T_SGN_NONE && bytes < 8;
  const char* const name = !is_integer  ? "Float"
                           : bytes == 1 ? "Char"
                           : bytes == 2 ? "Short"
                                        : "Int";
  return {(is_unsigned ? "U" : "") + std::string(name), std::to_string(bytes)};
}

// In the XML.
void put_list(XmlStream& xml, const std::string& name, const char* type, hsize_t count,
              const std::string& text) {
  xml.element("DataItem",
              {{"Name", name},
               {"Dimensions", std::to_string(count)},
               {"NumberType", type},
               {"Precision", "8"},
               {"Format", "XML"}},
              text);
  xml.break_line();
}

void put_selection(XmlStream& xml, const Shape& start, const Shape& count) {
  const Shape stride(start.size(), 1);
  xml.element("DataItem",
              {{"Dimensions", "3 " + std::to_string(start.size())},
               {"NumberType", "Int"},
               {"Precision", "8"},
               {"Format", "XML"}},
              listed_plainly(start) + " " + listed_plainly(stride) + " " + listed_plainly(count));
}

}  // namespace

std::string listed_plainly(const Shape& numbers) {
  std::string text;
  for (const hsize_t number : numbers) text += (text.empty() ? "" : " ") + std::to_string(number);
  return text;
}

void put(const Output& to, const Slab& slab) {
  const NumberType type = number_type(slab.type);
  to.xml.begin("DataItem", {{"ItemType", "HyperSlab"},
                            {"Dimensions", listed_plainly(slab.shape)},
                            {"NumberType", type.name},
                            {"Precision", type.bytes}});
  put_selection(to.xml, slab.start, slab.count);
  to.xml.element("DataItem",
                 {{"Dimensions", listed_plainly(slab.extents)},
                  {"NumberType", type.name},
                  {"Precision", type.bytes},
                  {"Format", "HDF"}},
                 to.file + ":/" + slab.path);
  to.xml.end();
}

void put_values(XmlStream& xml, const std::string& name, const std::vector<double>& values) {
  std::string text;
  for (const double value : values) text += (text.empty() ? "" : " ") + number_text(value);
  put_list(xml, name, "Float", values.size(), text);
}

void put_numbers(XmlStream& xml, const std::string& name, const std::vector<std::int64_t>& values) {
  std::string text;
  for (const std::int64_t value : values) text += (text.empty() ? "" : " ") + std::to_string(value);
  put_list(xml, name, "Int", values.size(), text);
}

void put_shared(XmlStream& xml, const std::string& name) {
  xml.element("DataItem", {{"Reference", "XML"}}, "/Xdmf/Domain/DataItem[@Name=\"" + name + "\"]");
}

void put_shared_rows(XmlStream& xml, const std::string& name, hsize_t rows, hsize_t columns) {
  xml.begin("DataItem", {{"ItemType", "HyperSlab"},
                         {"Dimensions", listed_plainly({rows, columns})},
                         {"NumberType", "Int"},
                         {"Precision", "8"}});
  put_selection(xml, {0}, {rows * columns});
  put_shared(xml, name);
  xml.end();
}

std::string why_no_name(const std::string& path) {
  return path.find(':') == std::string::npos
             ? ""
             : "its name has a \":\", which ends the name of the file in XDMF";
}

Slab whole(const vtk::Field& field, const Shape& extents, hsize_t row) {
  Slab slab{field.path(), field.variable->type, extents, zeros(extents), extents, field.shape};
  if (!field.varies) return slab;
  slab.start[0] = row;
  slab.count[0] = 1;
  return slab;
}

Slab elements(const vtk::Elements& of, const Shape& extents, const vtk::Elements::Row& found,
              hsize_t row, std::size_t first_block, std::size_t blocks) {
  const vtk::Field& field = of.field();
  const auto begin = found.counts.begin() + static_cast<std::ptrdiff_t>(first_block);
  const hsize_t count =
      std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(blocks), hsize_t{0});
  Slab slab = whole(field, extents, row);
  slab.shape = of.components() > 1 ? Shape{count, of.components()} : Shape{count};
  if (field.form == vtk::Field::Form::ragged) {
    slab.start = zeros(extents);
    slab.count = extents;
    slab.start[0] = std::accumulate(found.counts.begin(), begin, found.first);
    slab.count[0] = count;
  } else if (field.form == vtk::Field::Form::blocks) {
    const hsize_t each = field.shape.empty() ? 1 : field.shape[0];
    slab.start[0] = found.first / each + first_block;
    slab.count = extents;
    slab.count[0] = blocks;
  }
  return slab;
}

}  // namespace leat::hdf5::xdmf

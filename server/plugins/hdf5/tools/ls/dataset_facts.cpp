// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/tools/ls/dataset_facts.hpp"

#include <hdf5_hl.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/tools/ls/filter_names.hpp"

namespace leat::hdf5 {
namespace {

bool is_complex(hid_t type) {
  if (H5Tget_nmembers(type) != 2) return false;
  for (const unsigned i : {0u, 1u}) {
    char* name = H5Tget_member_name(type, i);
    const bool right = name && std::string(name) == (i == 0 ? "r" : "i");
    H5free_memory(name);
    if (!right || H5Tget_member_class(type, i) != H5T_FLOAT) return false;
  }
  return true;
}

std::string with_bits(const char* name, hid_t type) {
  return name + std::to_string(8 * H5Tget_size(type));
}

// Of the first scale of each dimension. Source: HDF5 Dimension Scale Specification: the attribute
// has a list of object references for each dimension, and such a reference is an address.
std::vector<std::string> scales_of(hid_t dataset, std::size_t dims, const Names& names) {
  std::vector<std::string> scales(dims);
  if (!says(dataset, "DIMENSION_LIST")) return scales;
  const std::string what = "DIMENSION_LIST";
  const Id attribute(H5Aopen(dataset, what.c_str(), H5P_DEFAULT), what),
      space(H5Aget_space(attribute), what), stored(H5Aget_type(attribute), what),
      type(H5Tvlen_create(H5T_STD_REF_OBJ), what);
  if (H5Sget_simple_extent_npoints(space) != static_cast<hssize_t>(dims)) return scales;
  if (H5Tequal(stored, type) <= 0) return scales;
  std::vector<hvl_t> lists(dims);
  check(H5Aread(attribute, type, lists.data()), what);
  for (std::size_t d = 0; d < dims; ++d) {
    if (lists[d].len == 0) continue;
    const auto found = names.find(*static_cast<const hobj_ref_t*>(lists[d].p));
    if (found != names.end()) scales[d] = found->second;
  }
  H5Dvlen_reclaim(type, space, H5P_DEFAULT, lists.data());
  return scales;
}

std::string label_of(hid_t dataset, unsigned d) {
  char label[256] = "";
  return H5DSget_label(dataset, d, label, sizeof label) > 0 ? label : "";
}

Json dimensions_of(hid_t dataset, std::size_t dims, const Names& names) {
  std::vector<std::string> titles = scales_of(dataset, dims, names);
  if (!says(dataset, "DIMENSION_LABELS")) return titles;
  for (unsigned d = 0; d < dims; ++d) {
    const std::string label = label_of(dataset, d);
    if (!label.empty()) titles[d] = label;
  }
  return titles;
}

// Files that a view takes the data from.
Json parts_of(hid_t creation) {
  std::set<std::string> files;
  std::size_t count = 0;
  if (H5Pget_virtual_count(creation, &count) < 0) count = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const ssize_t length = H5Pget_virtual_filename(creation, i, nullptr, 0);
    if (length <= 0) continue;
    std::string name(static_cast<std::size_t>(length) + 1, '\0');
    H5Pget_virtual_filename(creation, i, name.data(), name.size());
    name.pop_back();
    files.insert(name);
  }
  return files;
}

Json text_in(hid_t dataset, hid_t type, hsize_t row) {
  if (H5Tis_variable_str(type) > 0) return nullptr;
  std::string text(H5Tget_size(type), '\0');
  read_part(dataset, type, {row}, {1}, text.data(), "reading");
  return std::string(text.c_str());
}

Json characters_in(hid_t dataset, hid_t type, hsize_t row) {
  std::string text(extents_of(dataset)[1], '\0');
  read_part(dataset, type, {row, 0}, {1, text.size()}, text.data(), "reading");
  return std::string(text.c_str());
}

Json number_in(hid_t dataset, hid_t type, hsize_t row) {
  if (H5Tget_class(type) == H5T_FLOAT) {
    double value = 0;
    read_part(dataset, H5T_NATIVE_DOUBLE, {row}, {1}, &value, "reading");
    return std::isfinite(value) ? Json(value) : Json(nullptr);
  }
  std::int64_t value = 0;
  read_part(dataset, H5T_NATIVE_INT64, {row}, {1}, &value, "reading");
  return value == INT64_MIN ? Json(nullptr) : Json(value);
}

}  // namespace

std::string type_name(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return with_bits(H5Tget_sign(type) == H5T_SGN_NONE ? "uint" : "int", type);
    case H5T_FLOAT:
      return with_bits("float", type);
    case H5T_COMPOUND:
      return is_complex(type) ? with_bits("complex", type) : "compound";
    case H5T_STRING:
      return H5Tis_variable_str(type) <= 0 && H5Tget_size(type) == 1 ? "char" : "text";
    case H5T_ENUM:
      return "enum";
    case H5T_ARRAY:
      return "array";
    case H5T_VLEN:
      return "vlen";
    case H5T_REFERENCE:
      return "reference";
    default:
      return "opaque";
  }
}

bool says(hid_t object, const char* attribute) { return H5Aexists(object, attribute) > 0; }

std::string text_of(hid_t object, const char* attribute) {
  if (!says(object, attribute)) return "";
  try {
    return text_attribute(object, attribute);
  } catch (const std::exception&) {
    return "";
  }
}

std::int64_t number_of(hid_t object, const char* attribute, std::int64_t otherwise) {
  if (!says(object, attribute)) return otherwise;
  const Id found(H5Aopen(object, attribute, H5P_DEFAULT), attribute);
  const Id space(H5Aget_space(found), attribute), type(H5Aget_type(found), attribute);
  std::int64_t value = otherwise;
  if (H5Sget_simple_extent_npoints(space) == 1 && H5Tget_class(type) == H5T_INTEGER)
    H5Aread(found, H5T_NATIVE_INT64, &value);
  return value;
}

std::vector<std::int64_t> integers_in(hid_t dataset, std::uint64_t most) {
  const Shape shape = extents_of(dataset);
  if (shape.size() != 1) return {};
  std::vector<std::int64_t> values(std::min<std::uint64_t>(most, shape[0]));
  read_part(dataset, H5T_NATIVE_INT64, {0}, {values.size()}, values.data(), "reading");
  return values;
}

bool is_list_of_texts(hid_t dataset) {
  const Id type(H5Dget_type(dataset), "reading");
  return extents_of(dataset).size() == 2 && type_name(type) == "char";
}

Json element(hid_t dataset, std::uint64_t row) {
  const Shape shape = extents_of(dataset);
  const Id type(H5Dget_type(dataset), "reading");
  if (shape.empty() || row >= shape[0]) return nullptr;
  try {
    if (is_list_of_texts(dataset)) return characters_in(dataset, type, row);
    if (shape.size() != 1) return nullptr;
    switch (H5Tget_class(type)) {
      case H5T_INTEGER:
      case H5T_FLOAT:
        return number_in(dataset, type, row);
      case H5T_STRING:
        return text_in(dataset, type, row);
      default:
        return nullptr;
    }
  } catch (const std::exception&) {
    return nullptr;
  }
}

Json facts_of_dataset(hid_t file, const std::string& name, const Names& names) {
  const Id dataset = open_dataset(file, name);
  const Id type(H5Dget_type(dataset), name), creation(H5Dget_create_plist(dataset), name);
  const Shape shape = extents_of(dataset);
  const Shape chunk = chunk_of(creation);
  const bool is_view = H5Pget_layout(creation) == H5D_VIRTUAL;
  return {{"name", name},
          {"type", type_name(type)},
          {"shape", shape},
          {"dimensions", dimensions_of(dataset, shape.size(), names)},
          {"unit", text_of(dataset, "units")},
          {"description", text_of(dataset, "long_name")},
          {"bytes", product(shape) * H5Tget_size(type)},
          {"stored_bytes", is_view ? 0 : H5Dget_storage_size(dataset)},
          {"chunk", chunk.empty() ? Json(nullptr) : Json(chunk)},
          {"filters", filter_names(creation)},
          {"parts", is_view ? parts_of(creation) : Json::array()}};
}

}  // namespace leat::hdf5

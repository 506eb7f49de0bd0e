// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/base/attributes.hpp"

#include <cstring>
#include <stdexcept>

namespace leat::hdf5 {
namespace {

void set_list(hid_t object, const char* name, hid_t type, hsize_t count, const void* values) {
  const std::string what = std::string("cannot write the attribute ") + name;
  const Id space(H5Screate_simple(1, &count, nullptr), what);
  const Id attribute(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT), what);
  check(H5Awrite(attribute, type, values), what);
}

}  // namespace

std::int64_t integer_attribute(hid_t object, const char* name, std::int64_t otherwise) {
  const std::string what = std::string("cannot read the attribute ") + name;
  if (check(H5Aexists(object, name), what) == 0) return otherwise;
  const Id attribute(H5Aopen(object, name, H5P_DEFAULT), what);
  std::int64_t value = otherwise;
  check(H5Aread(attribute, H5T_NATIVE_INT64, &value), what);
  return value;
}

std::string text_attribute(hid_t object, const char* name) {
  const std::string what = std::string("cannot read the attribute ") + name;
  const Id attribute(H5Aopen(object, name, H5P_DEFAULT), what), type(H5Aget_type(attribute), what);
  std::string text;
  if (H5Tis_variable_str(type) > 0) {
    char* stored = nullptr;
    check(H5Aread(attribute, type, &stored), what);
    text = stored ? stored : "";
    H5free_memory(stored);
  } else {
    if (H5Tget_class(type) != H5T_STRING) throw std::runtime_error(what + ": it is no text");
    text.resize(H5Tget_size(type));
    check(H5Aread(attribute, type, text.data()), what);
    text.resize(std::strlen(text.c_str()));
  }
  return text;
}

void set_attribute(hid_t object, const char* name, const std::string& value) {
  const std::string what = std::string("cannot write the attribute ") + name;
  const Id type(H5Tcopy(H5T_C_S1), what), space(H5Screate(H5S_SCALAR), what);
  check(H5Tset_size(type, H5T_VARIABLE), what);  // what h5py and netCDF tools read as text
  check(H5Tset_cset(type, H5T_CSET_UTF8), what);
  const Id attribute(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT), what);
  const char* text = value.c_str();
  check(H5Awrite(attribute, type, &text), what);
}

void set_fixed_attribute(hid_t object, const char* name, const std::string& value) {
  const std::string what = std::string("cannot write the attribute ") + name;
  const Id type(H5Tcopy(H5T_C_S1), what), space(H5Screate(H5S_SCALAR), what);
  check(H5Tset_size(type, value.size() + 1), what);
  check(H5Tset_cset(type, H5T_CSET_UTF8), what);
  const Id attribute(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT), what);
  check(H5Awrite(attribute, type, value.c_str()), what);
}

std::string fixed_attribute(hid_t object, const char* name) {
  if (H5Aexists(object, name) <= 0) return "";
  const std::string what = std::string("cannot read the attribute ") + name;
  const Id attribute(H5Aopen(object, name, H5P_DEFAULT), what), type(H5Aget_type(attribute), what);
  return H5Tis_variable_str(type) > 0 ? "" : text_attribute(object, name);
}

void set_attribute(hid_t object, const char* name, const char* value) {
  set_attribute(object, name, std::string(value));
}

void set_attribute(hid_t object, const char* name, std::int64_t value) {
  const std::string what = std::string("cannot write the attribute ") + name;
  const Id space(H5Screate(H5S_SCALAR), what);
  const Id attribute(H5Acreate2(object, name, H5T_NATIVE_INT64, space, H5P_DEFAULT, H5P_DEFAULT),
                     what);
  check(H5Awrite(attribute, H5T_NATIVE_INT64, &value), what);
}

void set_attribute(hid_t object, const char* name, const std::vector<std::int64_t>& values) {
  set_list(object, name, H5T_NATIVE_INT64, values.size(), values.data());
}

void set_attribute(hid_t object, const char* name, const std::vector<std::int8_t>& values) {
  set_list(object, name, H5T_NATIVE_INT8, values.size(), values.data());
}

void set_fill_attribute(hid_t dataset, hid_t type, const std::vector<std::uint8_t>& fill) {
  set_list(dataset, "_FillValue", type, 1, fill.data());
}

}  // namespace leat::hdf5

// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/base/attributes.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "server/plugins/hdf5/base/objects.hpp"

namespace leat::hdf5 {
namespace {

// What is longer does not go into an attribute, which ends at 64 KiB with its name and type.
constexpr std::size_t kMostInObject = 60'000;

void write_attribute(hid_t object, const char* name, hid_t type, const Shape& extents,
                     const void* value) {
  const std::string what = std::string("cannot write the attribute ") + name;
  const Id attribute(has_attribute(object, name) ? H5Aopen(object, name, H5P_DEFAULT)
                                                 : H5Acreate2(object, name, type, space_of(extents),
                                                              H5P_DEFAULT, H5P_DEFAULT),
                     what);
  check(H5Awrite(attribute, type, value), what);
}

void set_long_attribute(hid_t object, const char* name, const std::string& value) {
  const char* text = value.c_str();
  write_attribute(object, name, text_type(H5T_VARIABLE), {}, &text);
}

Id opened(hid_t object, const char* name) {
  return Id(H5Aopen(object, name, H5P_DEFAULT), std::string("cannot read the attribute ") + name);
}

}  // namespace

bool has_attribute(hid_t object, const std::string& name) {
  return check(H5Aexists(object, name.c_str()), "cannot look for the attribute " + name) > 0;
}

void remove_attribute(hid_t object, const std::string& name) {
  if (has_attribute(object, name))
    check(H5Adelete(object, name.c_str()), "cannot remove the attribute " + name);
}

void set_attribute(hid_t object, const char* name, const std::string& value) {
  remove_attribute(object, name);
  if (value.size() > kMostInObject) return set_long_attribute(object, name, value);
  const Id type = text_type(std::max<std::size_t>(1, value.size()));
  check(H5Tset_strpad(type, H5T_STR_NULLPAD), "making a type");
  write_attribute(object, name, type, {}, value.c_str());
}

void set_attribute(hid_t object, const char* name, const char* value) {
  set_attribute(object, name, std::string(value));
}

void set_attribute(hid_t object, const char* name, std::int64_t value) {
  write_attribute(object, name, H5T_NATIVE_INT64, {}, &value);
}

void set_attribute(hid_t object, const char* name, const std::vector<std::int64_t>& values) {
  write_attribute(object, name, H5T_NATIVE_INT64, {values.size()}, values.data());
}

void set_attribute(hid_t object, const char* name, const std::vector<std::int8_t>& values) {
  write_attribute(object, name, H5T_NATIVE_INT8, {values.size()}, values.data());
}

void set_attribute(hid_t object, const char* name, const std::vector<double>& values) {
  write_attribute(object, name, H5T_NATIVE_DOUBLE, {values.size()}, values.data());
}

void set_fill_attribute(hid_t dataset, hid_t type, const std::vector<std::uint8_t>& fill) {
  write_attribute(dataset, "_FillValue", type, {1}, fill.data());
}

std::string fixed_attribute(hid_t object, const char* name) {
  if (H5Aexists(object, name) <= 0) return "";
  const Id type(H5Aget_type(opened(object, name)), name);
  return H5Tis_variable_str(type) > 0 ? "" : text_attribute(object, name);
}

std::int64_t integer_attribute(hid_t object, const char* name, std::int64_t otherwise) {
  if (!has_attribute(object, name)) return otherwise;
  std::int64_t value = otherwise;
  check(H5Aread(opened(object, name), H5T_NATIVE_INT64, &value),
        std::string("cannot read the attribute ") + name);
  return value;
}

std::vector<double> numbers_attribute(hid_t object, const char* name) {
  const std::string what = std::string("cannot read the attribute ") + name;
  const Id attribute = opened(object, name), space(H5Aget_space(attribute), what);
  std::vector<double> numbers(
      static_cast<std::size_t>(check(H5Sget_simple_extent_npoints(space), what)));
  check(H5Aread(attribute, H5T_NATIVE_DOUBLE, numbers.data()), what);
  return numbers;
}

std::string text_attribute(hid_t object, const char* name) {
  const std::string what = std::string("cannot read the attribute ") + name;
  const Id attribute = opened(object, name), type(H5Aget_type(attribute), what);
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

std::string text_attribute(hid_t object, const char* name, const std::string& otherwise) {
  return has_attribute(object, name) ? text_attribute(object, name) : otherwise;
}

}  // namespace leat::hdf5

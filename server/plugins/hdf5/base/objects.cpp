// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/base/objects.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

#include "server/include/plugin.h"

namespace leat::hdf5 {
namespace {

herr_t keep_description(unsigned, const H5E_error2_t* entry, void* text) {
  if (entry->desc && *entry->desc) *static_cast<std::string*>(text) = entry->desc;
  return 0;
}

// "file write failed: time = ..., filename = 'run.h5', ..., errno = 28, error message = 'No space
// left on device', ..." is all one description: the reader wants its first part and the system's
// words.
std::string shortened(const std::string& text) {
  const std::string key = "error message = '";
  const std::size_t at = text.find(key);
  if (at == std::string::npos) return text;
  const std::size_t begin = at + key.size();
  return text.substr(0, text.find(':')) + ": " + text.substr(begin, text.find('\'', begin) - begin);
}

}  // namespace

std::string innermost_error() {
  std::string text;
  // Downward ends at the innermost function, so that its text is the one that stays.
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, keep_description, &text);
  H5Eclear2(H5E_DEFAULT);
  return shortened(text);
}

void be_quiet() { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

void fail(const std::string& what) {
  const std::string reason = innermost_error();
  throw std::runtime_error(reason.empty() ? what : what + ": " + reason);
}

namespace {

constexpr unsigned kOrder = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED;

herr_t keep_name(hid_t, const char* name, const H5L_info_t* link, void* names) {
  if (link->type == H5L_TYPE_HARD) static_cast<std::vector<std::string>*>(names)->push_back(name);
  return 0;
}

}  // namespace

Id file_creation() {
  Id list(H5Pcreate(H5P_FILE_CREATE), "making a property list");
  check(H5Pset_link_creation_order(list, kOrder), "groups");
  return list;
}

Id group_creation() {
  Id list(H5Pcreate(H5P_GROUP_CREATE), "making a property list");
  check(H5Pset_link_creation_order(list, kOrder), "groups");
  return list;
}

Id link_creation() {
  Id list(H5Pcreate(H5P_LINK_CREATE), "making a property list");
  check(H5Pset_create_intermediate_group(list, 1), "groups");
  check(H5Pset_char_encoding(list, H5T_CSET_UTF8), "names");
  return list;
}

void link_hard(hid_t file, const std::string& there, const std::string& name) {
  check(H5Lcreate_hard(file, there.c_str(), file, name.c_str(), link_creation(), H5P_DEFAULT),
        "cannot link " + name);
}

void move_link(hid_t file, const std::string& from, const std::string& to) {
  check(H5Lmove(file, from.c_str(), file, to.c_str(), link_creation(), H5P_DEFAULT),
        "cannot rename " + from);
}

bool is_in(hid_t file, const std::string& name) {
  for (std::size_t end = name.find('/', 1);; end = name.find('/', end + 1)) {
    const std::string part = name.substr(0, end);
    if (check(H5Lexists(file, part.c_str(), H5P_DEFAULT), "cannot look for " + part) == 0)
      return false;
    if (end == std::string::npos || end + 1 == name.size()) return true;
  }
}

bool is_dataset(hid_t file, const std::string& name) {
  if (!is_in(file, name)) return false;
  // Not opened: that reads all mappings of a virtual dataset.
  H5O_info_t info;
  check(H5Oget_info_by_name2(file, name.c_str(), &info, H5O_INFO_BASIC, H5P_DEFAULT),
        "cannot look at " + name);
  return info.type == H5O_TYPE_DATASET;
}

std::vector<std::string> names_in(hid_t group, bool and_below) {
  std::vector<std::string> names;
  check(and_below ? H5Lvisit(group, H5_INDEX_NAME, H5_ITER_INC, keep_name, &names)
                  : H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, keep_name, &names),
        "cannot read a group");
  return names;
}

haddr_t address_of(hid_t object) {
  H5O_info_t info;
  check(H5Oget_info2(object, &info, H5O_INFO_BASIC), "cannot look at an object");
  return info.addr;
}

Id open_dataset(hid_t file, const std::string& name) {
  return Id(H5Dopen2(file, name.c_str(), H5P_DEFAULT), "cannot open " + name);
}

Shape extents_in(hid_t file, const std::string& name) {
  return extents_of(open_dataset(file, name));
}

Id text_type(std::size_t bytes) {
  Id type(H5Tcopy(H5T_C_S1), "making a type");
  check(H5Tset_size(type, bytes), "making a type");
  check(H5Tset_cset(type, H5T_CSET_UTF8), "making a type");
  return type;
}

Id space_of(const Shape& extents, const Shape& most) {
  return Id(extents.empty() ? H5Screate(H5S_SCALAR)
                            : H5Screate_simple(static_cast<int>(extents.size()), extents.data(),
                                               most.empty() ? nullptr : most.data()),
            "making a space");
}

Id part_of(hid_t dataset, const Shape& start, const Shape& count, const std::string& what) {
  Id space(H5Dget_space(dataset), what);
  if (!count.empty())
    check(H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr),
          what);
  return space;
}

namespace {

constexpr hsize_t kFewNumbers = 512;
constexpr std::size_t kBufferOfFew = 16 * kFewNumbers;  // of the largest numbers there are

bool is_number(hid_t type) {
  const H5T_class_t kind = H5Tget_class(type);
  return kind == H5T_INTEGER || kind == H5T_FLOAT;
}

// HDF5 clears its buffer for conversions, of 1 MiB, at each call. For as long as the library is.
hid_t reading_few() {
  static const hid_t list = [] {
    const hid_t made = H5Pcreate(H5P_DATASET_XFER);
    check(made, "making a property list");
    check(H5Pset_buffer(made, kBufferOfFew, nullptr, nullptr), "making a property list");
    return made;
  }();
  return list;
}

}  // namespace

void read_part(hid_t dataset, hid_t type, const Shape& start, const Shape& count, void* to,
               const std::string& what) {
  if (product(count) == 0) return;
  const Id space = part_of(dataset, start, count, what);
  const bool few = product(count) <= kFewNumbers && is_number(type);
  const hid_t how = few ? reading_few() : H5P_DEFAULT;
  check(H5Dread(dataset, type, space_of(count), space, how, to), what);
}

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

namespace {

Id copy_of(hid_t type) { return Id(H5Tcopy(type), "copying a type"); }

Id complex_of(hid_t part, std::size_t bytes) {
  Id type(H5Tcreate(H5T_COMPOUND, 2 * bytes), "making a complex type");
  check(H5Tinsert(type, "r", 0, part), "making a complex type");
  check(H5Tinsert(type, "i", bytes, part), "making a complex type");
  return type;
}

// Or each of the two parts of a complex number.
struct Element {
  template <class T>
  Element(leat_scalar number, hid_t in_hdf5, T nothing, int times = 1)
      : scalar(number), type(in_hdf5), bytes(sizeof nothing), parts(times) {
    std::memcpy(fill, &nothing, sizeof nothing);
  }
  leat_scalar scalar;
  hid_t type;
  std::size_t bytes;
  int parts;
  std::uint8_t fill[sizeof(double)];
};

template <class T>
using Limits = std::numeric_limits<T>;

const Element& element_of(std::uint32_t scalar) {
  static const Element all[] = {
      {LEAT_INT8, H5T_NATIVE_INT8, Limits<std::int8_t>::min()},
      {LEAT_INT16, H5T_NATIVE_INT16, Limits<std::int16_t>::min()},
      {LEAT_INT32, H5T_NATIVE_INT32, Limits<std::int32_t>::min()},
      {LEAT_INT64, H5T_NATIVE_INT64, Limits<std::int64_t>::min()},
      {LEAT_UINT8, H5T_NATIVE_UINT8, Limits<std::uint8_t>::max()},
      {LEAT_UINT16, H5T_NATIVE_UINT16, Limits<std::uint16_t>::max()},
      {LEAT_UINT32, H5T_NATIVE_UINT32, Limits<std::uint32_t>::max()},
      {LEAT_UINT64, H5T_NATIVE_UINT64, Limits<std::uint64_t>::max()},
      {LEAT_FLOAT32, H5T_NATIVE_FLOAT, Limits<float>::quiet_NaN()},
      {LEAT_FLOAT64, H5T_NATIVE_DOUBLE, Limits<double>::quiet_NaN()},
      {LEAT_COMPLEX64, H5T_NATIVE_FLOAT, Limits<float>::quiet_NaN(), 2},
      {LEAT_COMPLEX128, H5T_NATIVE_DOUBLE, Limits<double>::quiet_NaN(), 2},
      {LEAT_CHAR, H5T_C_S1, '\0'},
  };
  for (const Element& element : all) {
    if (element.scalar == scalar) return element;
  }
  throw std::runtime_error("unknown element type " + std::to_string(scalar));
}

}  // namespace

Id type_of(std::uint32_t scalar) {
  const Element& element = element_of(scalar);
  return element.parts == 2 ? complex_of(element.type, element.bytes) : copy_of(element.type);
}

std::vector<std::uint8_t> fill_value(std::uint32_t scalar) {
  const Element& element = element_of(scalar);
  std::vector<std::uint8_t> fill;
  for (int part = 0; part < element.parts; ++part)
    fill.insert(fill.end(), element.fill, element.fill + element.bytes);
  return fill;
}

}  // namespace leat::hdf5

// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/base/objects.hpp"

namespace leat::hdf5 {
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

}  // namespace leat::hdf5

// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/view/sources.hpp"

#include <stdexcept>

#include "server/plugins/hdf5/base/files.hpp"
#include "server/plugins/hdf5/filters/filters.hpp"

namespace leat::hdf5 {
namespace {

constexpr std::size_t kLongestName = 4096;

using GetName = ssize_t (*)(hid_t, size_t, char*, size_t);

std::string mapped_name(GetName get, hid_t creation, std::size_t mapping) {
  char name[kLongestName] = "";
  check(get(creation, mapping, name, sizeof name), "cannot read what is mapped");
  return name;
}

std::size_t mappings_of(hid_t creation) {
  std::size_t count = 0;
  if (H5Pget_layout(creation) == H5D_VIRTUAL)
    check(H5Pget_virtual_count(creation, &count), "cannot read what is mapped");
  return count;
}

Id creation_of(hid_t dataset) { return Id(H5Dget_create_plist(dataset), "reading a dataset"); }

Id open_dataset(hid_t file, const std::string& name, const std::string& path) {
  return Id(H5Dopen2(file, name.c_str(), H5P_DEFAULT),
            "\"" + name + "\" of " + path + " cannot be read");
}

void expect_filters(hid_t dataset, const std::string& whose) {
  const Id creation = creation_of(dataset);
  for (const StoredFilter& filter : filters_of(creation)) {
    const std::string why = why_cannot_expand(filter.number, filter.name);
    if (!why.empty()) throw std::runtime_error(whose + " " + why);
  }
}

}  // namespace

hid_t Sources::file(const std::string& name) {
  Id& file = files_[name];
  if (file.is_open()) return file;
  const std::string path = view_folder_ / name;
  if (!std::filesystem::exists(path))
    throw std::runtime_error("the part " + path +
                             " is missing: the view and the folder of its parts belong together");
  file = open_plain(path, "the part " + path + " cannot be read");
  return file;
}

void Sources::open(hid_t dataset) {
  const Id creation = creation_of(dataset);
  for (std::size_t i = 0; i < mappings_of(creation); ++i) {
    const std::string part = mapped_name(H5Pget_virtual_filename, creation, i);
    const std::string name = mapped_name(H5Pget_virtual_dsetname, creation, i);
    if (!known_.emplace(part, name).second) continue;
    const std::string path = view_folder_ / part;
    expect_filters(open_dataset(file(part), name, path), "\"" + name + "\" of " + path);
  }
}

Id Sources::first_of(hid_t dataset) {
  const Id creation = creation_of(dataset);
  if (mappings_of(creation) == 0) return {};
  const std::string part = mapped_name(H5Pget_virtual_filename, creation, 0);
  return open_dataset(file(part), mapped_name(H5Pget_virtual_dsetname, creation, 0),
                      view_folder_ / part);
}

}  // namespace leat::hdf5

// SPDX-License-Identifier: Apache-2.0
// Source of the two attributes: HDF5 Dimension Scale Specification (The HDF Group), section 3.
#include "server/plugins/hdf5/datasets/dimension_scale.hpp"

#include <hdf5_hl.h>

#include <cstdio>
#include <utility>

#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/base/parts.hpp"

namespace leat::hdf5 {
namespace {

constexpr const char* kOfScale = "REFERENCE_LIST";
constexpr const char* kOfDataset = "DIMENSION_LIST";
// Places in a file are never used twice: a long list is not written anew for few.
constexpr std::size_t kMostListed = 4000, kLong = 512, kFew = 8;
constexpr const char* kCannotList = "cannot list what a dimension names";
constexpr const char* kNoCoordinates = "This is a netCDF dimension but not a netCDF variable";

struct List {  // of a dataset: for each dimension the scales that it has
  Id attribute, type, space;
};

List list_of(hid_t dataset, const std::string& what) {
  List list;
  list.type = Id(H5Tvlen_create(H5T_STD_REF_OBJ), what);
  if (has_attribute(dataset, kOfDataset)) {
    list.attribute = Id(H5Aopen(dataset, kOfDataset, H5P_DEFAULT), what);
    list.space = Id(H5Aget_space(list.attribute), what);
    return list;
  }
  const hsize_t dims = extents_of(dataset).size();
  list.space = space_of({dims});
  list.attribute =
      Id(H5Acreate2(dataset, kOfDataset, list.type, list.space, H5P_DEFAULT, H5P_DEFAULT), what);
  const std::vector<hvl_t> nothing(dims, hvl_t{0, nullptr});
  check(H5Awrite(list.attribute, list.type, nothing.data()), what);
  return list;
}

hobj_ref_t reference_to(hid_t object, const std::string& what) {
  hobj_ref_t reference = 0;
  check(H5Rcreate(&reference, object, ".", H5R_OBJECT, -1), what);
  return reference;
}

// Where a file has the parts of several servers, each is in a group of its own, in which names begin.
std::string name_in_part(hid_t object, const std::string& path) {
  const std::size_t end = path.find('/');
  if (!begins_with(path, kPartBegin) || end == std::string::npos) return path;
  const Id group(H5Oopen(object, ("/" + path.substr(0, end)).c_str(), H5P_DEFAULT), "a group");
  return has_attribute(group, kFirstRank) ? path.substr(end + 1) : path;
}

herr_t keep_path(hid_t, unsigned, hid_t scale, void* paths) {
  char name[4096];
  if (H5Iget_name(scale, name, sizeof name) <= 0) return -1;
  try {
    static_cast<std::vector<std::string>*>(paths)->push_back(
        name_in_part(scale, name + (name[0] == '/' ? 1 : 0)));
    return 0;
  } catch (const std::exception&) {
    return -1;
  }
}

herr_t keep_address(hid_t, unsigned, hid_t scale, void* address) {
  *static_cast<haddr_t*>(address) = address_of(scale);
  return 1;  // no more of them
}

}  // namespace

void make_scale(hid_t dataset, const std::string& title) {
  check(H5DSset_scale(dataset, title.c_str()), "cannot make the dimension " + title);
}

bool is_scale(hid_t dataset) { return H5DSis_scale(dataset) > 0; }

std::string scale_title(hid_t scale) {
  char title[256] = "";
  check(H5DSget_scale_name(scale, title, sizeof title), "cannot read the name of a dimension");
  return title;
}

std::string no_coordinates(hsize_t length) {
  char text[80];
  std::snprintf(text, sizeof text, "%s.%10llu", kNoCoordinates,
                static_cast<unsigned long long>(length));
  return text;
}

bool has_coordinates(hid_t scale) { return scale_title(scale).rfind(kNoCoordinates, 0) != 0; }

void name_dimension(hid_t dataset, unsigned d, hid_t scale, const std::string& what) {
  hobj_ref_t reference = reference_to(scale, what);
  const List list = list_of(dataset, what);
  const hssize_t dims = H5Sget_simple_extent_npoints(list.space);
  std::vector<hvl_t> all(static_cast<std::size_t>(dims), hvl_t{0, nullptr});
  check(H5Aread(list.attribute, list.type, all.data()), what);
  std::vector<hvl_t> named = all;
  named.at(d) = {1, &reference};
  const herr_t written = H5Awrite(list.attribute, list.type, named.data());
  H5Dvlen_reclaim(list.type, list.space, H5P_DEFAULT, all.data());
  check(written, what);
}

// As H5DSattach_scale makes it.
Id NamedByScale::type() {
  Id type(H5Tcreate(H5T_COMPOUND, sizeof(Entry)), kCannotList);
  check(H5Tinsert(type, "dataset", HOFFSET(Entry, dataset), H5T_STD_REF_OBJ), kCannotList);
  check(H5Tinsert(type, "dimension", HOFFSET(Entry, dimension), H5T_NATIVE_INT), kCannotList);
  return type;
}

std::vector<NamedByScale::Entry> NamedByScale::listed_by(hid_t scale) {
  if (!has_attribute(scale, kOfScale)) return {};
  const Id list(H5Aopen(scale, kOfScale, H5P_DEFAULT), kCannotList),
      space(H5Aget_space(list), kCannotList);
  std::vector<Entry> entries(
      static_cast<std::size_t>(check(H5Sget_simple_extent_npoints(space), kCannotList)));
  check(H5Aread(list, type(), entries.data()), kCannotList);
  return entries;
}

void NamedByScale::add(hid_t dataset, unsigned d) {
  new_.push_back({reference_to(dataset, kCannotList), d});
}

void NamedByScale::write(hid_t scale) {
  const std::vector<Entry> added = std::exchange(new_, {});
  if (added.empty()) return;
  std::vector<Entry> all = listed_by(scale);
  if (all.size() >= kLong && added.size() * kFew < all.size()) return;
  all.insert(all.end(), added.begin(), added.end());
  if (all.size() > kMostListed) all.resize(kMostListed);
  remove_attribute(scale, kOfScale);
  const Id list(
      H5Acreate2(scale, kOfScale, type(), space_of({all.size()}), H5P_DEFAULT, H5P_DEFAULT),
      kCannotList);
  check(H5Awrite(list, type(), all.data()), kCannotList);
}

void attach_scale(hid_t dataset, unsigned d, hid_t scale, const std::string& what) {
  name_dimension(dataset, d, scale, what);
  NamedByScale named;
  named.add(dataset, d);
  named.write(scale);
}

haddr_t first_scale_of(hid_t dataset, unsigned d) {
  haddr_t address = HADDR_UNDEF;
  check(H5DSiterate_scales(dataset, d, nullptr, keep_address, &address),
        "cannot read the names of dimensions");
  return address;
}

std::vector<std::string> scales_of(hid_t dataset, unsigned d) {
  std::vector<std::string> paths;
  check(H5DSiterate_scales(dataset, d, nullptr, keep_path, &paths),
        "cannot read the names of dimensions");
  return paths;
}

std::string label_of(hid_t dataset, unsigned d) {
  char label[1024] = "";
  return H5DSget_label(dataset, d, label, sizeof label) > 0 ? label : "";
}

}  // namespace leat::hdf5

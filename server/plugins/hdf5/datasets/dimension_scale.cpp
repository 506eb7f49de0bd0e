// SPDX-License-Identifier: Apache-2.0
// Source of the two attributes: HDF5 Dimension Scale Specification (The HDF Group), section 3.
#include "server/plugins/hdf5/datasets/dimension_scale.hpp"

#include <hdf5_hl.h>

#include <vector>

#include "server/plugins/hdf5/base/handle.hpp"
#include "server/plugins/hdf5/base/shape.hpp"

namespace leat::hdf5 {
namespace {

constexpr const char* kOfScale = "REFERENCE_LIST";
constexpr const char* kOfDataset = "DIMENSION_LIST";
// HDF5 makes the list anew with each dataset, and places in a file are never used twice: all lists
// up to this one take 2 MB, up to the 4,084th, the longest, 130 MB.
constexpr hssize_t kMostListed = 512;

hssize_t listed_by(hid_t scale, const std::string& what) {
  if (check(H5Aexists(scale, kOfScale), what) == 0) return 0;
  const Id list(H5Aopen(scale, kOfScale, H5P_DEFAULT), what);
  return H5Sget_simple_extent_npoints(Id(H5Aget_space(list), what));
}

struct List {  // of a dataset: for each dimension the scales that it has
  Id attribute, type, space;
};

List list_of(hid_t dataset, const std::string& what) {
  List list;
  list.type = Id(H5Tvlen_create(H5T_STD_REF_OBJ), what);
  if (check(H5Aexists(dataset, kOfDataset), what) > 0) {
    list.attribute = Id(H5Aopen(dataset, kOfDataset, H5P_DEFAULT), what);
    list.space = Id(H5Aget_space(list.attribute), what);
    return list;
  }
  const hsize_t dims = extents_of(dataset).size();
  list.space = Id(H5Screate_simple(1, &dims, nullptr), what);
  list.attribute =
      Id(H5Acreate2(dataset, kOfDataset, list.type, list.space, H5P_DEFAULT, H5P_DEFAULT), what);
  const std::vector<hvl_t> nothing(dims, hvl_t{0, nullptr});
  check(H5Awrite(list.attribute, list.type, nothing.data()), what);
  return list;
}

void name_one_way(hid_t dataset, unsigned d, hid_t scale, const std::string& what) {
  hobj_ref_t reference = 0;
  check(H5Rcreate(&reference, scale, ".", H5R_OBJECT, -1), what);
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

}  // namespace

void attach_scale(hid_t dataset, unsigned d, hid_t scale, const std::string& what) {
  if (listed_by(scale, what) < kMostListed)
    check(H5DSattach_scale(dataset, scale, d), what);
  else
    name_one_way(dataset, d, scale, what);
}

}  // namespace leat::hdf5

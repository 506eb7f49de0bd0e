// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/view/copy_objects.hpp"

#include <algorithm>
#include <cstdint>

#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/datasets/dimension_scale.hpp"

namespace leat::hdf5 {
namespace {

constexpr hsize_t kMostInChunk = 8192;

struct AttributeCopy {
  hid_t to;
  const std::vector<std::string>& but;
};

bool names_objects(hid_t type) { return H5Tdetect_class(type, H5T_REFERENCE) > 0; }

bool is_of_scales(const std::string& name) {
  return name == "CLASS" || name == "NAME" || name == "DIMENSION_LIST" ||
         name == "REFERENCE_LIST" || name == "DIMENSION_LABELS" || name == "_Netcdf4Dimid" ||
         name == "_Netcdf4Coordinates";
}

void copy_attribute(hid_t from, const char* name, const AttributeCopy& copy) {
  const std::string what = std::string("cannot copy the attribute ") + name;
  const Id source(H5Aopen(from, name, H5P_DEFAULT), what);
  const Id type(H5Aget_type(source), what), space(H5Aget_space(source), what);
  if (names_objects(type)) return;
  const auto count =
      static_cast<std::size_t>(std::max<hssize_t>(0, H5Sget_simple_extent_npoints(space)));
  std::vector<std::uint8_t> value(count * H5Tget_size(type) + 1);
  check(H5Aread(source, type, value.data()), what);
  const Id target(H5Acreate2(copy.to, name, type, space, H5P_DEFAULT, H5P_DEFAULT), what);
  check(H5Awrite(target, type, value.data()), what);
  const bool varies = H5Tis_variable_str(type) > 0 || H5Tdetect_class(type, H5T_VLEN) > 0;
  if (varies) H5Dvlen_reclaim(type, space, H5P_DEFAULT, value.data());
}

herr_t visit_attribute(hid_t from, const char* name, const H5A_info_t*, void* data) {
  const auto& copy = *static_cast<AttributeCopy*>(data);
  if (is_of_scales(name) || has_attribute(copy.to, name)) return 0;
  if (std::find(copy.but.begin(), copy.but.end(), name) != copy.but.end()) return 0;
  try {
    copy_attribute(from, name, copy);
    return 0;
  } catch (const std::exception&) {
    return -1;
  }
}

}  // namespace

void copy_attributes(hid_t from, hid_t to, const std::vector<std::string>& but) {
  AttributeCopy copy{to, but};
  check(H5Aiterate2(from, H5_INDEX_NAME, H5_ITER_INC, nullptr, visit_attribute, &copy),
        "cannot copy attributes");
}

void copy_fill_value(hid_t from, hid_t to, hid_t type) {
  const std::string what = "cannot copy a fill value";
  H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
  check(H5Pfill_value_defined(from, &defined), what);
  if (defined != H5D_FILL_VALUE_USER_DEFINED) return;
  std::vector<std::uint8_t> fill(H5Tget_size(type));
  check(H5Pget_fill_value(from, type, fill.data()), what);
  check(H5Pset_fill_value(to, type, fill.data()), what);
}

void set_small_chunks(hid_t creation, const Shape& extents) {
  Shape chunk;
  hsize_t elements = 1;
  for (std::size_t d = extents.size(); d-- > 0;) {
    const hsize_t most = std::max<hsize_t>(1, kMostInChunk / elements);
    chunk.insert(chunk.begin(), std::clamp<hsize_t>(extents[d], 1, most));
    elements *= chunk.front();
  }
  check(H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data()), "chunks");
}

void copy_whole(hid_t from_file, const std::string& from, hid_t to_file, const std::string& to) {
  const std::string what = "cannot copy " + from;
  const Id source = open_dataset(from_file, from);
  const Id type(H5Dget_type(source), what), space(H5Dget_space(source), what);
  const Id creation(H5Pcreate(H5P_DATASET_CREATE), what);
  copy_fill_value(Id(H5Dget_create_plist(source), what), creation, type);
  const Shape extents = extents_of(source);
  if (!extents.empty()) set_small_chunks(creation, extents);
  const Id target(
      H5Dcreate2(to_file, to.c_str(), type, space, link_creation(), creation, H5P_DEFAULT), what);
  std::vector<std::uint8_t> values(product(extents) * H5Tget_size(type) + 1);
  check(H5Dread(source, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), what);
  check(H5Dwrite(target, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), what);
  if (H5Tis_variable_str(type) > 0) H5Dvlen_reclaim(type, space, H5P_DEFAULT, values.data());
  copy_attributes(source, target);
}

void copy_scales(hid_t from, hid_t to, hid_t file, const std::string& prefix) {
  for (unsigned d = 0; d < extents_of(from).size(); ++d) {
    for (const std::string& scale : scales_of(from, d))
      attach_scale(to, d, open_dataset(file, prefix + scale), "cannot name a dimension");
  }
}

std::string dimension_name(hid_t dataset, unsigned d) {
  std::string label = label_of(dataset, d);
  if (!label.empty()) return label;
  const std::vector<std::string> scales = scales_of(dataset, d);
  return scales.empty() ? "" : scales[0].substr(scales[0].rfind('/') + 1);
}

std::vector<std::string> datasets_in(hid_t file, const std::string& group) {
  const std::string what = "cannot read the group /" + group;
  if (!group.empty() && !is_in(file, group)) return {};
  const Id top(H5Gopen2(file, ("/" + group).c_str(), H5P_DEFAULT), what);
  std::vector<std::string> datasets;
  for (const std::string& name : names_in(top, true)) {
    const std::string path = group.empty() ? name : group + "/" + name;
    if (is_dataset(file, path)) datasets.push_back(path);
  }
  return datasets;
}

}  // namespace leat::hdf5

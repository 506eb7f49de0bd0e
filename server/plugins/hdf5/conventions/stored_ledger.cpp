// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/conventions/stored_ledger.hpp"

#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/conventions/dimension_scales.hpp"
#include "server/plugins/hdf5/conventions/own_group.hpp"

namespace leat::hdf5 {
namespace {

constexpr const char* kMark = "leat_ledger";
constexpr const char* kNotWritten = "cannot write the ledger";

bool is_ledger(hid_t file, const std::string& name) {
  return check(H5Aexists_by_name(file, name.c_str(), kMark, H5P_DEFAULT), kNotWritten) > 0;
}

}  // namespace

std::string name_of_ledger(hid_t file) {
  for (std::string name = own_group(file) + "ledger"; is_in(file, name); name += "_") {
    if (is_ledger(file, name)) return name;
  }
  return "";
}

std::string ledger_text(hid_t file, const std::string& name) {
  const Id dataset = open_dataset(file, name), type(H5Dget_type(dataset), name);
  if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) > 0) return "";
  std::string text(product(extents_of(dataset)) * H5Tget_size(type), '\0');
  check(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()), "cannot read " + name);
  return text;
}

void write_ledger_text(hid_t file, const std::string& name, const std::string& json) {
  const Shape length{json.size()};
  const Id dataset(H5Dcreate2(file, name.c_str(), H5T_C_S1, space_of(length), link_creation(),
                              H5P_DEFAULT, H5P_DEFAULT),
                   kNotWritten);
  check(H5Dwrite(dataset, H5T_C_S1, H5S_ALL, H5S_ALL, H5P_DEFAULT, json.data()), kNotWritten);
  set_attribute(dataset, kMark, std::int64_t{1});
  set_attribute(dataset, "long_name", "what was written, stored, dropped and lost, as JSON");
  Dataset scale = make_dimension(file, name + "_length", json.size(), false);
  Dataset(file, name).attach_scale(0, scale);
}

}  // namespace leat::hdf5

// SPDX-License-Identifier: Apache-2.0
// What views and merged files take over from other files as it is.
#pragma once

#include <string>
#include <vector>

#include "server/plugins/hdf5/base/objects.hpp"

namespace leat::hdf5 {

/// All attributes but those that name other objects, those of dimension scales, and those that are
/// there already. `but`: others that are not copied.
void copy_attributes(hid_t from, hid_t to, const std::vector<std::string>& but = {});
/// From one property list of a dataset to another.
void copy_fill_value(hid_t from, hid_t to, hid_t type);
/// For a dataset that may grow and has no values, or few.
void set_small_chunks(hid_t creation, const Shape& extents);
/// Copies a dataset with its values, which are few, and its attributes.
void copy_whole(hid_t from_file, const std::string& from, hid_t to_file, const std::string& to);

/// Names the dimensions of `to` by the scales of `file` that are called `prefix` and what those of
/// `from` are called.
void copy_scales(hid_t from, hid_t to, hid_t file, const std::string& prefix);
/// Name of a dimension: its label, else its scale's without folders; "" when it has none.
std::string dimension_name(hid_t dataset, unsigned d);
/// Paths of all datasets below `group` ("" for all), not in the order of their making.
std::vector<std::string> datasets_in(hid_t file, const std::string& group = "");

}  // namespace leat::hdf5

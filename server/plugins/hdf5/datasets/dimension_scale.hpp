// SPDX-License-Identifier: Apache-2.0
// Dimension scales of HDF5: datasets that name the dimensions of others.
#pragma once

#include <string>
#include <vector>

#include "server/plugins/hdf5/base/handle.hpp"

namespace leat::hdf5 {

/// Makes a dataset one, called `title`.
void make_scale(hid_t dataset, const std::string& title);
bool is_scale(hid_t dataset);
std::string scale_title(hid_t scale);
/// The title of a dimension without coordinates, in the form of netCDF-4, with its length.
std::string no_coordinates(hsize_t length);
/// False for one with such a title.
bool has_coordinates(hid_t scale);

/// Names dimension `d` of a dataset by a scale. The scale has a list of those that it names, an
/// attribute, which in this file format ends at 64 KiB; what no longer goes into it is named all
/// the same, by the dataset's own list, the only one that readers look at.
void attach_scale(hid_t dataset, unsigned d, hid_t scale, const std::string& what);
/// The same where `before` names it so far, from now on no more.
void replace_scale(hid_t dataset, unsigned d, hid_t before, hid_t scale, const std::string& what);
/// Paths of the scales of dimension `d`, without the first '/'.
std::vector<std::string> scales_of(hid_t dataset, unsigned d);
/// "" for none.
std::string label_of(hid_t dataset, unsigned d);

}  // namespace leat::hdf5

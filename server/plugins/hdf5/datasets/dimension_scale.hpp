// SPDX-License-Identifier: Apache-2.0
// Dimension scales of HDF5: datasets that name the dimensions of others.
#pragma once

#include <hdf5.h>

#include <string>

namespace leat::hdf5 {

/// Names dimension `d` of a dataset by a scale. The scale has a list of those that it names, an
/// attribute, which in this file format ends at 64 KiB; what no longer goes into it is named all
/// the same, by the dataset's own list, the only one that readers look at.
void attach_scale(hid_t dataset, unsigned d, hid_t scale, const std::string& what);

}  // namespace leat::hdf5

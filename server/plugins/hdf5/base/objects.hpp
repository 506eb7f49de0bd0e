// SPDX-License-Identifier: Apache-2.0
// Objects of an HDF5 file, their names, and parts of datasets.
#pragma once

#include <string>
#include <vector>

#include "server/plugins/hdf5/base/shape.hpp"

namespace leat::hdf5 {

/// For making files and groups: their members are known in the order in which they were made.
/// Without that netCDF opens a file for reading only. Groups that are made for a path have it from
/// the one above them.
Id file_creation();
Id group_creation();
/// For making an object under a path, of UTF-8: groups above it are made too.
Id link_creation();
/// A second name for what is there.
void link_hard(hid_t file, const std::string& there, const std::string& name);
void move_link(hid_t file, const std::string& from, const std::string& to);
/// Whether `file` has something of this name, which may be a path.
bool is_in(hid_t file, const std::string& name);
/// Whether that is a dataset.
bool is_dataset(hid_t file, const std::string& name);
/// Names of what is in `group`, but for soft links; `and_below`: and in groups in it, as paths.
std::vector<std::string> names_in(hid_t group, bool and_below);

/// Where an object of a file is: what it is known by under each of its names.
haddr_t address_of(hid_t object);
Id open_dataset(hid_t file, const std::string& name);
/// Extents of a dataset that is in `file`.
Shape extents_in(hid_t file, const std::string& name);

/// Text of UTF-8, of so many bytes or of H5T_VARIABLE.
Id text_type(std::size_t bytes);
/// Of one element when there are no extents. `most`: what they may grow to.
Id space_of(const Shape& extents, const Shape& most = {});
/// The space of a dataset with `count` elements from `start` on selected.
Id part_of(hid_t dataset, const Shape& start, const Shape& count, const std::string& what);
/// Reads them, as `type` in memory.
void read_part(hid_t dataset, hid_t type, const Shape& start, const Shape& count, void* to,
               const std::string& what);

}  // namespace leat::hdf5

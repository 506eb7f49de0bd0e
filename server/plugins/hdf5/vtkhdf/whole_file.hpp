// SPDX-License-Identifier: Apache-2.0
// The group VTKHDF in a file that has all its rows already: a view of several servers' files, or what was
// merged of it. The same code makes it that adds row by row to the file of one server.
#pragma once

#include <string>
#include <vector>

#include "server/plugins/hdf5/base/handle.hpp"

namespace leat::hdf5 {

/// What is not shown, and why.
using NotShown = std::vector<std::string>;

/// Whether the group is to be there: the file says what its run is, and that has meshes. Throws
/// nothing.
bool is_for_vtk(hid_t file);

/// Makes the group in `file`. `values`: what the same variables are read from. A step is an
/// iteration in which something of a mesh was written. Never throws: what cannot be made is not
/// there, and all else in the file is as it was.
NotShown add_vtkhdf(hid_t file, hid_t values);

/// The same for a file that has virtual datasets, and is not open: values of those are fill values
/// in a file that is open for writing, as HDF5 would open their sources for writing too. So it is
/// replaced by a copy of it, in which the group is made.
/// `sources`: files of which it shows something, from its folder on. HDF5 says nothing when it
/// cannot open one of them for it, and shows fill values: then there is no group, and the reason is
/// returned.
NotShown add_vtkhdf(const std::string& path, const std::vector<std::string>& sources);

}  // namespace leat::hdf5

// SPDX-License-Identifier: Apache-2.0
// HDF5 files of ours, through the file driver.
#pragma once

#include <string>

#include "server/plugins/hdf5/disk/committed_file.hpp"
#include "server/plugins/hdf5/handle.hpp"

namespace leat::hdf5 {

/// `disk` was made for `path`, anew, and outlives what is returned.
Id create_file(const std::string& path, CommittedFile* disk);
/// `disk` has opened what is there already.
Id open_file(const std::string& path, CommittedFile* disk);

/// The session of the run that has written `path`. Its last commit is finished. Throws when it is
/// no file of Leat, or cannot be read.
std::string session_of(const std::string& path);

}  // namespace leat::hdf5

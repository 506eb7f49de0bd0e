// SPDX-License-Identifier: Apache-2.0
// What stands in for a lock on file systems that have none: a file with the host and the process
// that has it. Such a lock of a killed process is free for the next one on that host; another host
// cannot know whether it lives, and takes it to be so.
#pragma once

#include <string>

#include "server/plugins/hdf5/disk/file_place.hpp"

namespace leat::hdf5 {

/// Makes the file, unless one whose owner may live is there. Throws when it cannot be written.
bool claim(const FilePlace& owner_file);
/// Whether somebody has it who may live.
bool is_claimed(const FilePlace& owner_file);
/// "process 4711 on node12", or "" when there is none.
std::string owner_in(const FilePlace& owner_file);

}  // namespace leat::hdf5

// SPDX-License-Identifier: Apache-2.0
// HDF5 files of ours, through the file driver.
#pragma once

#include <cstdint>
#include <string>

#include "server/plugins/hdf5/base/handle.hpp"
#include "server/plugins/hdf5/disk/committed_file.hpp"

namespace leat::hdf5 {

/// `disk` was made for `path`, anew, and outlives what is returned.
Id create_file(const std::string& path, CommittedFile* disk);
/// `disk` has opened what is there already.
Id open_file(const std::string& path, CommittedFile* disk);

inline constexpr const char* kRunNumber = "leat_run_number";

struct RunName {
  std::string session;
  std::int64_t number = 0;  ///< leat_run_number(); 0: not known, as in a file of an earlier Leat
};
/// Of the run that has written `path`. Its last commit is finished. Throws when it is no file of
/// Leat, or cannot be read.
RunName run_of(const std::string& path);

}  // namespace leat::hdf5

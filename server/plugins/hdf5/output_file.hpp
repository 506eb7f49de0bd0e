// SPDX-License-Identifier: Apache-2.0
// Which file a run writes: never one that another run is writing, never over what is there without
// being told to.
#pragma once

#include <string>

#include "server/include/plugin.hpp"

namespace leat::hdf5 {

/// The name of the run's file, and the lock that keeps other runs away from it: ".<file>.lock"
/// beside it, locked with flock while this object lives, and removed at its end. A lock file that a
/// killed run left locks nothing.
class OutputFile {
 public:
  /// Takes <folder>/<file>; another name with the session in it when a run in progress has that one
  /// (said in the log). What is there already is renamed to <name>.1.h5, <name>.2.h5, ... (`exists`
  /// = "keep", the default) or removed
  /// ("replace"). Throws when the folder cannot be written to.
  OutputFile(const leat_run& run, const Host& host);
  OutputFile(OutputFile&& other) noexcept;
  ~OutputFile();

  const std::string& path() const { return path_; }

 private:
  bool lock(const std::string& path);

  std::string path_;
  std::string lock_path_;
  int lock_ = -1;
};

}  // namespace leat::hdf5

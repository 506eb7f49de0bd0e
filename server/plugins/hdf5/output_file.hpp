// SPDX-License-Identifier: Apache-2.0
// Which file a run writes: never one that another run is writing, never over what is there without
// being told to.
#pragma once

#include <string>

#include "server/include/plugin.hpp"
#include "server/plugins/hdf5/file_lock.hpp"

namespace leat::hdf5 {

/// The name of the run's file, and the lock that keeps other runs away from it while this lives.
class OutputFile {
 public:
  /// Takes <folder>/<file>; another name with the session in it when a run in progress has that one
  /// (said in the log). What is there already is renamed to <name>.1.h5, <name>.2.h5, ... (`exists`
  /// = "keep", the default; said in the log) or removed ("replace"). Throws when the folder cannot
  /// be written to.
  OutputFile(const leat_run& run, const Host& host);

  const std::string& path() const { return path_; }

 private:
  OutputFile(const leat_run& run, const Host& host, const std::string& wanted);

  std::string path_;
  FileLock lock_;
};

}  // namespace leat::hdf5

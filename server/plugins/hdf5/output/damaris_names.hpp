// SPDX-License-Identifier: Apache-2.0
// What the files of a store with layout="damaris" are called: as Damaris calls its own,
// <simulation>_It<iteration>_Pr<server>.h5, or without _Pr where there is one for all.
//
// Two runs never write files of the same names: a lock says that this run has them; the next run has
// its session in them. What an earlier run has left under these names goes into a folder,
// <simulation>.1, all at once when the run starts: who reads a run by its names finds nothing of
// another.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "server/include/plugin.hpp"
#include "server/plugins/hdf5/disk/file_lock.hpp"
#include "server/plugins/hdf5/output/options.hpp"

namespace leat::hdf5 {

class DamarisNames {
 public:
  /// Sets aside what an earlier run has left, or removes it, as `exists` says. Throws when the folder
  /// cannot be written to.
  DamarisNames(const leat_run& run, const Host& host, FileMode mode);

  std::string of(std::int64_t iteration) const { return name(base_, iteration); }
  /// The same without a number.
  std::string of_all() const { return base_ + "_It*" + ending_; }
  /// A server of this run that died has stored it: a file has its name when it is whole.
  bool is_stored(std::int64_t iteration) const;
  /// Files of this run that are there already, the last iteration first.
  std::vector<std::string> stored() const;
  /// The name, free to be used: what somebody has put there since is set aside, or removed.
  std::string make_room_for(std::int64_t iteration) const;

 private:
  std::string name(const std::string& base, std::int64_t iteration) const;
  bool is_own(const std::string& path) const;
  void lock();
  void set_old_aside() const;
  std::vector<std::filesystem::path> others()
      const;  // files of these names that are not of this run

  const leat_run& run_;
  Host host_;
  std::string base_, base_of_session_, ending_, exists_;
  std::optional<FileLock> lock_;
};

}  // namespace leat::hdf5

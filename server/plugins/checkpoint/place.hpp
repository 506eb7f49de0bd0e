// SPDX-License-Identifier: Apache-2.0
// One folder of checkpoints, as a server writes into it: files appear there whole or not at all.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "lib/checkpoint/checkpoints.hpp"
#include "lib/os/descriptor.hpp"

namespace leat::checkpoint {

/// Throws std::runtime_error where something cannot be done. From one thread at a time.
class Place {
 public:
  /// Makes the folder when it is not there.
  explicit Place(std::string folder);

  const std::string& folder() const { return folder_; }
  /// Nobody else writes here as the first server of a run. Throws when somebody does.
  void lock();
  /// Nobody does now.
  bool is_unlocked() const noexcept;

  /// A new file under the name that files have until they are finished. Others may be able to write to the folder: no link is
  /// followed.
  os::UniqueFd begin(const std::string& name) const;
  /// It is on the disk, and has its name from here on.
  void finish(const std::string& name, const os::UniqueFd& file) const;
  /// All of it: the data are there already, the index is the last.
  void publish(const std::string& stem, const std::string& index) const;
  /// What has been begun and never finished.
  void give_up(const std::string& name) const noexcept;

  /// The index first: who reads meanwhile finds a part or none.
  void remove(const PartName& part) const noexcept;
  /// What a run before this one has left unfinished.
  void remove_unfinished(std::int64_t generation) const noexcept;

 private:
  [[noreturn]] void fail(int code) const;
  os::UniqueFd open_lock() const noexcept;
  void sync() const;

  std::string folder_;
  os::UniqueFd fd_, lock_;
};

/// Which parts are in the way.
struct Surplus {
  std::uint64_t keep = 2;                         ///< so many stay that count
  std::function<bool(const Checkpoint&)> counts;  ///< the run could go on from it
  std::function<bool(const PartName&)> may_be_removed;
};

void remove_surplus(const Place& place, const Surplus& surplus);

}  // namespace leat::checkpoint

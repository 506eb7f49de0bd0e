// SPDX-License-Identifier: Apache-2.0
// Copies what has been published in the first place into the second one, on a thread of its own, so that the simulation does not
// wait for a file system.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "lib/checkpoint/checkpoints.hpp"
#include "server/plugins/checkpoint/place.hpp"

namespace leat::checkpoint {

class Copier {
 public:
  /// `copied`: called on its thread after each.
  Copier(const Place& from, const Place& to, std::function<void()> copied);
  Copier(const Copier&) = delete;
  ~Copier();

  using Progress = std::function<void(std::uint64_t bytes)>;
  /// Waits while another one waits already: the first place shall not run full. `progress` is told what is done meanwhile.
  void add(const PartName& part, const Progress& progress);
  /// All are copied, or cannot be.
  void await_all(const Progress& progress);
  /// The oldest that is not copied yet.
  std::optional<Key> oldest() const;
  /// Why the last could not be copied, once; "" when it could.
  std::string take_error();

 private:
  void work();
  void copy(const PartName& part);
  void copy_data(const std::string& name);
  template <class Ready>
  void await(const Ready& ready, const Progress& progress);

  const Place &from_, &to_;
  std::function<void()> copied_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<PartName> waiting_, busy_;
  std::uint64_t bytes_ = 0, told_ = 0;
  std::string error_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace leat::checkpoint

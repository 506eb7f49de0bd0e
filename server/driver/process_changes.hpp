// SPDX-License-Identifier: Apache-2.0
// What a server changes of the process that it runs in: signals, folder, cores. One that was there
// before the server, and goes on after it, finds all of it as it was.
#pragma once

#include <signal.h>

#include <utility>
#include <vector>

#include "lib/platform/affinity.hpp"
#include "lib/platform/unique_fd.hpp"

namespace leat::server {

class ProcessChanges {
 public:
  /// `goes_on`: the process has threads that are not ours, and lives on.
  explicit ProcessChanges(bool goes_on);
  ~ProcessChanges();
  ProcessChanges(const ProcessChanges&) = delete;
  ProcessChanges& operator=(const ProcessChanges&) = delete;

  /// A pipe with the number of each signal that asks for the end and was not ours to block; -1:
  /// there is none.
  int termination() const noexcept { return reader_.get(); }

 private:
  void take(int signal, void (*handler)(int));

  bool goes_on_;
  sigset_t mask_{};
  std::vector<std::pair<int, struct sigaction>> actions_;
  platform::UniqueFd folder_, reader_, writer_;
  platform::CpuSet cpus_;
};

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// What a server changes of the process that it runs in: signals, folder, cores, descriptors.
#pragma once

#include <signal.h>

#include <string>
#include <utility>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/os/cores.hpp"
#include "lib/os/descriptor.hpp"

namespace leat::server {

/// Whose process it is.
enum class Owner {
  leatd,      ///< the server's own
  rank,       ///< of a rank that does nothing else, and goes on afterwards: finds all as it was
  simulation  ///< of a rank that computes: the calling thread is the server's, the others see nothing
};

class ProcessChanges {
 public:
  explicit ProcessChanges(Owner owner) : owner_(owner) {}
  ~ProcessChanges();
  ProcessChanges(const ProcessChanges&) = delete;
  ProcessChanges& operator=(const ProcessChanges&) = delete;

  /// Once. An error: the kernel does not let a thread have what is the process' otherwise.
  Result<void> make();
  /// Gets the signals that ask for the end; -1: they are not the server's.
  int signals() const noexcept { return signals_.get(); }
  /// A pipe with the number of each of them that another thread has got; -1: there is none.
  int termination() const noexcept { return reader_.get(); }

 private:
  Result<void> stand_apart();
  void remember();
  void take(int signal, void (*handler)(int));

  Owner owner_;
  sigset_t mask_{};
  std::vector<std::pair<int, struct sigaction>> actions_;
  os::UniqueFd signals_, folder_, reader_, writer_;
  os::CpuSet cpus_;
};

}  // namespace leat::server

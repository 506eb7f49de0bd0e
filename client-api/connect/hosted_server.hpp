// SPDX-License-Identifier: Apache-2.0
// A server in this very process: its library is loaded for that, and only then. And the threads that somebody brings for
// its analyses.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/server_library.h"
#include "lib/base/status.hpp"
#include "lib/os/clock.hpp"

namespace leat::client {

/// As leat_set_executor said last; without functions for none.
leat_server_pieces chosen_executor() noexcept;

/// What this process has for the plugins of its server.
struct ServerMeans {
  void* mpi_comm = nullptr;  ///< points to an MPI_Comm
  std::string why_no_mpi_comm;
};

using ServerTold = std::function<bool(Status status, const std::string& message)>;

/// Runs a server with leatd's command line, less its first word, on this thread until the run is
/// over. `told` is called once: it is ready, or why there is none. False of it ends the server.
void run_server_here(const std::vector<std::string>& arguments, const ServerMeans& means,
                     const ServerTold& told);

/// A server on a thread of its own beside those of the simulation.
class HostedServer {
 public:
  /// Returns when it is ready, with leatd's command line as above.
  static Result<std::unique_ptr<HostedServer>> start(const std::vector<std::string>& arguments,
                                                     const os::Deadline& deadline);
  /// One that has not ended goes on; await_all() waits for it.
  ~HostedServer();
  HostedServer(const HostedServer&) = delete;

  /// Whether it has ended, waiting up to `limit_ns` for that.
  bool await_end(std::int64_t limit_ns) noexcept;
  /// Waits a while for all whose HostedServer has gone before them: the code that they run is about
  /// to be destroyed.
  static void await_all() noexcept;

 private:
  struct Thread;
  struct Left;
  explicit HostedServer(std::shared_ptr<Thread> thread);
  static Left& left();

  std::shared_ptr<Thread> thread_;
};

}  // namespace leat::client

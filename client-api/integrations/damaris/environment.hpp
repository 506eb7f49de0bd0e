// SPDX-License-Identifier: Apache-2.0
// What a process is to Damaris, from damaris_initialize to damaris_finalize.
#pragma once

#include <mpi.h>

#include <map>
#include <memory>
#include <string>

#include "Damaris.h"
#include "allocations.hpp"
#include "description.hpp"
#include "parameters.hpp"

namespace leat::damaris {

class Environment {
 public:
  /// Collective. Empty, with `*code` filled, when it cannot be on some rank.
  static std::unique_ptr<Environment> initialize(const char* config, MPI_Comm comm, int* code);

  int start(int* is_client);
  int stop();
  int finalize();

  bool is_client() const noexcept { return role_ == Role::client; }
  bool is_server() const noexcept { return role_ == Role::server; }
  MPI_Comm clients() const noexcept { return clients_; }
  /// Of this rank; counts on where the servers were started anew.
  std::int64_t iteration() const noexcept { return iteration_; }
  int end_iteration();

  /// `*type` is a DAMARIS_TYPE_STR.
  int type_of(const char* variable, DAMARIS_TYPE_STR* type);

  int bind(const char* signal, signal_t function);
  int signal(const char* name);

  Parameters& parameters() noexcept { return parameters_; }
  Allocations& allocations() noexcept { return allocations_; }

 private:
  enum class Role { waits_for_start, client, server };

  Environment(GivenXml config, MPI_Comm comm, Description description);
  /// With ranks that become servers: parts them from the clients. Comes back on a server when the
  /// run is over.
  int split();
  bool begin_session();
  int end_session();
  void put_blocks_at_the_origin() const;

  GivenXml config_;
  // Both are freed by MPI_Finalize: not all ranks need call damaris_finalize.
  MPI_Comm all_ = MPI_COMM_NULL;
  MPI_Comm clients_ = MPI_COMM_NULL;  ///< the program's, too
  bool ranks_serve_;
  Role role_ = Role::waits_for_start;
  bool in_session_ = false, is_parted_ = false;
  std::int64_t iteration_ = 0;
  std::map<std::string, std::uint32_t> placed_;
  std::map<std::string, int, std::less<>> types_;
  std::map<std::string, signal_t, std::less<>> bound_;
  Parameters parameters_;
  Allocations allocations_;
};

}  // namespace leat::damaris

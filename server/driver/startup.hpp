// SPDX-License-Identifier: Apache-2.0
// From command line to a running server: everything that can fail does so here, before the
// simulation goes on.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "lib/base/server_library.h"
#include "lib/base/status.hpp"
#include "server/driver/process_changes.hpp"
#include "server/state/run.hpp"

namespace leat::server {

struct Options {
  std::string config;
  std::string session;  ///< of the run; this server's own has its number behind it
  int server = 0;       ///< of the servers of this node, which have its ranks between them
  int servers = 1;      ///< as the XML says
  int cores = 1;        ///< of all of them, as the XML says
  int ranks = 1;
  int node_ranks = 1;
  std::string folder;         ///< to work in; "": where we are
  std::string take_over;      ///< name of the segment of a server of this session that has died
  int for_rank = -1;          ///< on its node, that starts it; -1: not known
  std::int64_t since_ns = 0;  ///< when that one began to come; see node::LateRanks
  std::string drain;  ///< a segment without processes: what is in it is stored, all else is in it
  std::string describe;  ///< an XML: what it says is said, and nothing else done
  int report_fd = -1;    ///< where the starter reads whether the server is ready; -1: nobody does
  std::string place;     ///< "process": whatever the XML says
  ServerMpi mpi{};       ///< of the process that hosts the server
};

/// The process that a server runs in. One that is not leatd's own goes on after it, and is told once
/// that the server is ready, or why there is none. False of that: none is wanted any more.
struct HostProcess {
  Owner owner = Owner::leatd;
  std::function<bool(Status status, const std::string& message)> tell{};
  ServerMpi mpi{};
  leat_server_pieces lent{};  ///< threads of the simulation
};

/// Runs a whole session. Returns the exit status: 0 all stored, 1 something lost, 2 could not
/// start. A starter that asks for a server where the XML wants it in the simulation reads
/// "thread\n".
int run_session(const Options& options, const HostProcess& host = {});

}  // namespace leat::server

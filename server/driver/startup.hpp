// SPDX-License-Identifier: Apache-2.0
// From command line to a running server: everything that can fail does so here, before the
// simulation goes on.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "lib/base/status.hpp"

namespace leat::server {

struct Options {
  std::string config;
  std::string session;
  int ranks = 1;
  int node_ranks = 1;
  std::string folder;         ///< to work in; "": where we are
  std::string take_over;      ///< name of the segment of a server of this session that has died
  int for_rank = -1;          ///< on its node, that starts it; -1: not known
  std::int64_t since_ns = 0;  ///< when that one began to come; see platform::LateRanks
  std::string drain;  ///< a segment without processes: what is in it is stored, all else is in it
  std::string describe;  ///< an XML: what it says is said, and nothing else done
  int report_fd = -1;    ///< where the starter reads whether the server is ready; -1: nobody does
  std::string place;     ///< "process": whatever the XML says
};

/// The process that hosts a server and goes on after it. It is told once that the server is ready,
/// or why there is none. False: none is wanted any more.
using TellHost = std::function<bool(Status status, const std::string& message)>;

/// Runs a whole session. Returns the exit status: 0 all stored, 1 something lost, 2 could not
/// start. `tell_host`: in a process that is not its own; all that it changes of that process is
/// then as before afterwards.
int run_session(const Options& options, const TellHost& tell_host = {});

/// Says to the starter where the XML wants the server: "process 1\n", the word of `place` and the
/// cores, or a status and what is wrong. Returns the exit status.
int report_plan(const Options& options);

}  // namespace leat::server

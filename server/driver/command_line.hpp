// SPDX-License-Identifier: Apache-2.0
// The command line of leatd.
#pragma once

#include "server/driver/startup.hpp"

namespace leat::server {

/// Returns the exit status. The process is leatd's own, but with a `tell_host`: then it goes on
/// afterwards, and keeps what it has open.
int run_command_line(int argc, char** argv, const TellHost& tell_host = {});

}  // namespace leat::server

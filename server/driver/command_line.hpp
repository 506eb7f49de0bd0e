// SPDX-License-Identifier: Apache-2.0
// The command line of leatd.
#pragma once

#include "server/driver/startup.hpp"

namespace leat::server {

/// Returns the exit status.
int run_command_line(int argc, char** argv, const HostProcess& host = {});

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// The command line of leatd.
#pragma once

namespace leat::server {

/// Returns the exit status of the process, which is leatd's own.
int run_command_line(int argc, char** argv);

}  // namespace leat::server

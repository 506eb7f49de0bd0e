// SPDX-License-Identifier: Apache-2.0
#include "server/driver/server_library.h"

#include "server/driver/command_line.hpp"

const struct leat_server_library leat_server_library {
  LEAT_SERVER_ABI, sizeof(struct leat_server_library), LEAT_VERSION, leat::server::run_command_line
};

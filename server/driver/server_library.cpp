// SPDX-License-Identifier: Apache-2.0
// The one symbol of libleat_server.so.
#include "lib/base/server_library.h"

#include <string>

#include "server/driver/command_line.hpp"

namespace {

int serve(int argc, char** argv, const struct leat_server_host* host, leat_server_told* told,
          void* context) {
  using leat::server::Owner;
  const auto tell = [told, context](leat::Status status, const std::string& message) {
    return told(context, static_cast<int>(status), message.c_str()) == 0;
  };
  const Owner owner = host->owner == LEAT_SERVER_THREAD ? Owner::simulation : Owner::rank;
  return leat::server::run_command_line(
      argc, argv, {owner, tell, {host->mpi_comm, host->why_no_mpi_comm}, host->lent});
}

}  // namespace

const struct leat_server_library leat_server_library {
  LEAT_SERVER_ABI, sizeof(struct leat_server_library), LEAT_VERSION,
      [](int argc, char** argv) { return leat::server::run_command_line(argc, argv); }, serve
};

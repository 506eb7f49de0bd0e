// SPDX-License-Identifier: Apache-2.0
// leatd: the server of one session on one node. Started by leat_init; nobody needs to start it by
// hand. All of it is in libleat_server.so.
#include "lib/base/server_library.h"

int main(int argc, char** argv) { return leat_server_library.run(argc, argv); }

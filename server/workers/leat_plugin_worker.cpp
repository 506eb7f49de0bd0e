// SPDX-License-Identifier: Apache-2.0
// leat_plugin_worker: runs one plugin beside leatd, which starts it. Its arguments are for those who
// look at processes. All of it is in libleat_server.so.
#include <string>

#include "lib/base/server_library.h"

int main(int, char** argv) {
  std::string duty = "--work-for-plugin";
  char* words[] = {argv[0], duty.data(), nullptr};
  return leat_server_library.run(2, words);
}

// SPDX-License-Identifier: Apache-2.0
#include "server/cli/verbs.hpp"

#include <cstdio>

namespace leat::cli {

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

int refuse(const std::string& verb, const std::string& why, int exit_code) {
  std::fflush(stdout);
  std::fprintf(stderr, "leat %s: %s\n", verb.c_str(), why.c_str());
  return exit_code;
}

}  // namespace leat::cli

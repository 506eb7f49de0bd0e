// SPDX-License-Identifier: Apache-2.0
// What an errno of a write means, with the limit of the process where it is that: plugins have nothing of the server's own.
#pragma once

#include <sys/resource.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace leat {

inline std::string errno_text(int code) {
  const std::string text = std::generic_category().message(code);
  rlimit limit{};
  if (code != EFBIG || getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return text;
  return text + " (`ulimit -f` allows " + std::to_string(limit.rlim_cur / 1024) +
         " KiB for a file)";
}

}  // namespace leat

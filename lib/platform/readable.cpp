// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/readable.hpp"

#include <poll.h>
#include <time.h>

namespace leat::platform {

bool is_readable_within(int descriptor, std::int64_t ns) noexcept {
  pollfd entry{descriptor, POLLIN, 0};
  const timespec limit{ns / 1'000'000'000, ns % 1'000'000'000};
  return ppoll(&entry, 1, &limit, nullptr) > 0;
}

}  // namespace leat::platform

// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/page_protection.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace leat::platform {

bool make_read_only(char* begin, char* end) noexcept {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  begin += (page - reinterpret_cast<std::uintptr_t>(begin) % page) % page;
  end -= reinterpret_cast<std::uintptr_t>(end) % page;
  return begin >= end || mprotect(begin, static_cast<std::size_t>(end - begin), PROT_READ) == 0;
}

}  // namespace leat::platform

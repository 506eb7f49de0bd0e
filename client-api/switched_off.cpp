// SPDX-License-Identifier: Apache-2.0
#include "client-api/switched_off.hpp"

#include <cstdlib>
#include <cstring>
#include <string>

#include "client-api/last_error.hpp"
#include "lib/os/scratch.h"

namespace leat::client {

bool is_switched_off() noexcept {
  static const bool off = [] {
    const char* value = std::getenv("LEAT");
    return value && std::strcmp(value, "off") == 0;
  }();
  return off;
}

Status alloc_without_server(const char* function, const char* variable, std::uint32_t block,
                            void** data) noexcept {
  const std::string call(function);
  if (!data || !variable)
    return fail(Status::ERROR_ARGUMENT,
                call + ": the variable's name or the pointer to fill is NULL", call);
  *data = scratch_memory(variable, block);
  if (*data) return Status::OK;
  return fail(Status::ERROR_MEMORY,
              call +
                  ": LEAT=off, and the address space has no room for another block: raise the "
                  "limit that `ulimit -v` shows",
              call);
}

Status commit_without_server(const char* variable, std::uint32_t block) noexcept {
  if (variable) (void)scratch_commit(variable, block);
  return Status::OK;
}

}  // namespace leat::client

// SPDX-License-Identifier: Apache-2.0
// What is left of Leat with LEAT=off: memory to compute in.
#pragma once

#include <cstdint>

#include "lib/base/status.hpp"

namespace leat::client {

/// LEAT=off in the environment, when first asked.
bool is_switched_off() noexcept;

/// leat_alloc and leat_commit then; `function` is the call's name for messages.
Status alloc_without_server(const char* function, const char* variable, std::uint32_t block,
                            void** data) noexcept;
Status commit_without_server(const char* variable, std::uint32_t block) noexcept;

}  // namespace leat::client

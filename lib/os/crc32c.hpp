// SPDX-License-Identifier: Apache-2.0
// CRC-32C, with the instructions that this processor has for it. In this room because which ones it has is a question to
// the machine.  The polynomial is Castagnoli's, 0x1EDC6F41, reflected, register preset and result inverted: RFC 3720
// (iSCSI), section 12.1, with the examples of its section B.4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace leat::os {

/// Of `bytes` bytes that follow on those of which `seed` is the sum; 0 is the sum of none.
std::uint32_t crc32c(const void* data, std::size_t bytes, std::uint32_t seed = 0) noexcept;

/// memcpy, and the sum of what was copied: of the bytes that came from `from`, each of which is
/// read once, so that somebody who writes into `from` meanwhile does not make the two differ. Costs
/// about as much as memcpy when the bytes are not in the caches.
std::uint32_t copy_crc32c(void* to, const void* from, std::size_t bytes,
                          std::uint32_t seed = 0) noexcept;

/// One way to compute it. `state` is the register: neither preset nor inverted.
struct Crc32cMethod {
  const char* name;
  bool runs_here;
  std::uint32_t (*sum)(const char* data, std::size_t bytes, std::uint32_t state) noexcept;
  std::uint32_t (*copy)(char* to, const char* from, std::size_t bytes,
                        std::uint32_t state) noexcept;
};

/// All that this build has, the fastest first; the last runs everywhere.
std::span<const Crc32cMethod> crc32c_methods() noexcept;

}  // namespace leat::os

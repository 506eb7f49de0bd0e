// SPDX-License-Identifier: Apache-2.0
// What a client may write of the segment that it has attached. A wild pointer of its own code that
// hits anything else ends this client, at the line that wrote, instead of all that share the
// segment.
#pragma once

#include <cstdint>

#include "lib/base/status.hpp"
#include "lib/shm/segment.hpp"

namespace leat::shm {

/// Takes from this process the right to write what the server or other clients write, by whole
/// pages: after it only this client's lane and events, the steering area and the data are left. Not
/// for the server.
Result<void> protect_from_client(const Segment& segment, std::uint32_t index);

}  // namespace leat::shm

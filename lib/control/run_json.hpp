// SPDX-License-Identifier: Apache-2.0
// A run as JSON, as its segment says it. For leatd, which answers with it, and for `leat ls`, which reads the segment
// where no server answers. What the XML says is lib/model/run_description.hpp's.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/control/protocol.hpp"
#include "lib/model/model.hpp"
#include "lib/shm/segment.hpp"

namespace leat::control {

/// takeovers, buffer, iteration_done, ranks, clients, stores; docs/reference/leat-ls.md describes
/// them. `model`: null when it is not known. Only reads; all numbers may change meanwhile.
Json json_of_segment(const shm::Segment& segment, const model::Model* model,
                     std::optional<std::int32_t> all_ranks);

}  // namespace leat::control

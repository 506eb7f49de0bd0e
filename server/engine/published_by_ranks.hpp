// SPDX-License-Identifier: Apache-2.0
// What ranks publish, read from the segment: nothing of it is believed.
#pragma once

#include <optional>
#include <string>

#include "lib/shm/segment.hpp"
#include "server/state/iterations/iteration.hpp"

namespace leat::server {

/// `event`: of shm::EventKind::products; the caller has made sure that its bytes are leased to the client. Behind a BlockHeader lies
/// the head, JSON:
///
///     {"source": "stats@4", "by_plugin": true, "of_rank": false, "iteration": 7,
///      "arrays": [{"name", "type", "unit", "dimensions": [...], "extents": [...], "offset", "bytes"}, ...]}
///
/// and behind that the data, in which offsets count. Products point into the segment. An error says what made no sense: all or none
/// of it is good.
std::optional<Publication> published_by_rank(const shm::Segment& segment, const shm::Event& event,
                                             std::string* error);

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// What leatd and the process of a plugin say to each other of iterations and products. Both are of one
// build of Leat.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "server/state/iterations/iteration.hpp"
#include "server/workers/frames.hpp"

namespace leat::server {

/// The order to work on an iteration. Its data are a record for each block that is taken, and for each of `constants`, then what
/// does not lie in the segment, which both sides have.
Frame iteration_order(const Iteration& iteration, std::size_t waiting,
                      const std::function<bool(std::uint32_t variable)>& takes,
                      const std::vector<const Block*>& constants, std::span<const char> segment);
/// Points into the order, and the segment.
Iteration iteration_in(const Frame& order, const char* segment_start);

/// The order to work on products of a publication.
Frame products_order(const Publication& publication, const std::vector<const Product*>& wanted);
/// Points into the order.
Publication publication_in(const Frame& order);

// The process of a RemotePlugin: the program leat_plugin_worker.

/// Does what leatd says, until it goes away. Returns the exit status.
int work_for_plugin();

}  // namespace leat::server

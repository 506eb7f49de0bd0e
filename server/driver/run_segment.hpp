// SPDX-License-Identifier: Apache-2.0
// The segment of a run, as its server gets it: made, or inherited from a server that has died.
#pragma once

#include <string>

#include "lib/base/status.hpp"
#include "lib/model/model.hpp"
#include "lib/node/placement.hpp"
#include "lib/shm/catalogue.hpp"
#include "lib/shm/segment.hpp"
#include "server/driver/startup.hpp"
#include "server/engine/drains.hpp"
#include "server/state/clients/catalogue_writer.hpp"
#include "server/state/journal/session_journal.hpp"

namespace leat::server {

// What one of several servers of a node has of the node.

/// The name under which this server is found.
std::string own_session(const Options& options);
/// Those of the node that are this server's.
node::Share ranks_of(const Options& options);

/// Leaves in the model what this server has of what the XML gives to a node, and learns from it how
/// many servers there are. An error when the node has fewer ranks.
Result<void> take_share(model::Model* model, Options* options);

/// What killed sessions have in memory may be all that there is: then it has to go first.
Result<shm::Segment> make_segment_in_time(const model::Model& model, const Options& options,
                                          const std::string& name, int memory_node, Drains& drains,
                                          bool traced, const RestartFacts& restart);

/// Of a server that has died: the segment as it left it, and the XML that the run began with.
struct Inherited {
  shm::Segment segment;
  shm::RunText run;
};

Result<Inherited> take_segment(LiveSession* live, const Options& options);

/// Folder, environment, and what is on the command line else, from the segment that is drained.
Result<void> take_options_of_dead_run(Options* options);

}  // namespace leat::server

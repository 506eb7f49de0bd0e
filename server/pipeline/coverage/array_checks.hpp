// SPDX-License-Identifier: Apache-2.0
// What can be wrong with a global array though each block of it is right, and blocks that are not what was written.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/model/model.hpp"
#include "server/pipeline/coverage/hole_check.hpp"
#include "server/state/iterations/iteration.hpp"
#include "server/state/iterations/result.hpp"

namespace leat::server {

// Whether blocks are still what the simulation handed over. Reads all of their data: for the
// pipeline's thread.
struct ChangedBlock {
  Block block;
  std::uint32_t now = 0;  ///< the CRC-32C that its bytes have
};

/// Those whose bytes do not have their checksum. A block without one is never among them.
std::vector<ChangedBlock> changed_blocks(const Iteration& iteration);

/// Takes those out, before any store gets them; the iteration is not complete then. Their holds
/// stay as they are.
std::vector<BlockProblem> take_out_changed(Iteration* iteration);

/// Of one that had its checksum when the stores got it.
BlockProblem changed_while_stored(const ChangedBlock& changed,
                                  const std::vector<std::string>& stores);

// Whether blocks that lie on each other in a global array have the same values there. Reads the
// data: for whom LEAT_CHECK_OVERLAPS=1 asks for it, on the pipeline's thread.

/// One finding for each variable with such blocks, about the first two of them.
std::vector<Finding> differing_overlaps(const model::Model& model, const Iteration& iteration);

// What can be wrong with a global array though each block of it is right: holes, and blocks that
// lie on each other with different values. For the pipeline's thread.
class ArrayChecks {
 public:
  struct Wanted {
    bool holes = false;                    ///< only where all ranks of the run are on this node
    bool overlaps = false;                 ///< reads all data
    bool from_start = false;               ///< no iteration has been stored yet
    std::set<std::uint32_t> kept_apart{};  ///< variables of whose blocks nobody makes one array
  };

  ArrayChecks(const model::Model& model, const Wanted& wanted);
  /// Before the stores get it: what they may leave out is theirs to say.
  std::vector<Finding> check(const Iteration& iteration);
  /// After the last one.
  std::vector<Finding> finish();

 private:
  const model::Model& model_;
  bool overlaps_;
  HoleCheck holes_;
  std::map<std::uint32_t, std::string> told_overlaps_;  // by variable
};

}  // namespace leat::server

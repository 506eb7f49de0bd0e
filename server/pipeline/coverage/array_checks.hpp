// SPDX-License-Identifier: Apache-2.0
// What can be wrong with a global array though each block of it is right: holes, and blocks that
// lie on each other with different values. For the pipeline's thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/model/model.hpp"
#include "server/pipeline/coverage/finding.hpp"
#include "server/pipeline/coverage/hole_check.hpp"
#include "server/session/iteration.hpp"

namespace leat::server {

class ArrayChecks {
 public:
  struct Wanted {
    bool holes = false;       ///< only where all ranks of the run are on this node
    bool overlaps = false;    ///< reads all data
    bool from_start = false;  ///< no iteration has been stored yet
  };

  ArrayChecks(const model::Model& model, Wanted wanted);
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

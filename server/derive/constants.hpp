// SPDX-License-Identifier: Apache-2.0
// What is written once and needed in each iteration: for what is made of it, and for the files of later periods. It is kept beside the sums:
// a server that takes over is not given it again.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "lib/model/model.hpp"
#include "server/derive/sums.hpp"
#include "server/state/iterations/iteration.hpp"
#include "server/state/run.hpp"

namespace leat::server {

class Constants {
 public:
  Constants(const model::Model& model, std::shared_ptr<Log> log);

  /// The variables.
  const std::set<std::uint32_t>& wanted() const noexcept { return wanted_; }
  /// Those that are in the iteration.
  void take(const Iteration& iteration, Sums* sums) const;
  /// Those of a variable that iterations had so far.
  std::vector<Block> blocks(std::uint32_t variable, Sums* sums) const;

 private:
  const model::Layout& layout_of(std::uint32_t variable) const {
    return model_.layouts[model_.variables[variable].layout];
  }
  Sum* room_for(const Block& block, Sums* sums) const;

  const model::Model& model_;
  std::shared_ptr<Log> log_;
  std::set<std::uint32_t> wanted_;
};

}  // namespace leat::server

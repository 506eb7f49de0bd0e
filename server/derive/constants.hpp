// SPDX-License-Identifier: Apache-2.0
// What is written once and needed later: for what is made of it, for the files of later periods, for stores that do not take the
// iteration that it was written in, and for scripts of a server that takes over. It is kept beside the sums: a server that takes over is not given it again.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "lib/model/model.hpp"
#include "server/derive/sums.hpp"
#include "server/state/iterations/iteration.hpp"

namespace leat::server {

class Constants {
 public:
  explicit Constants(const model::Model& model);

  /// Of some variable, as the XML says.
  bool any() const noexcept { return !for_stores_.empty() || !for_scripts_.empty(); }
  /// Variables that others are made of.
  const std::set<std::uint32_t>& for_others() const noexcept { return for_others_; }
  /// Takes those that are in the iteration. Those for which there is no room are problems.
  void take(const Iteration& iteration, Sums* sums, std::vector<BlockProblem>* problems) const;
  /// Those of a variable that iterations had so far.
  std::vector<Block> blocks(std::uint32_t variable, Sums* sums) const;
  /// Those that some store may not have had.
  std::vector<Block> for_stores(Sums* sums) const { return blocks_of(for_stores_, sums); }
  /// Those that scripts may ask for.
  std::vector<Block> for_scripts(Sums* sums) const { return blocks_of(for_scripts_, sums); }
  /// They are of the run before: no store of this one has had them.
  void begin_anew(Sums* sums) const;
  /// The run is over: of each variable that a store never had, though it took some iteration.
  std::vector<Finding> not_had(Sums* sums) const;

 private:
  const model::Layout& layout_of(std::uint32_t variable) const {
    return model_.layouts[model_.variables[variable].layout];
  }
  bool is_needed(const Block& block, const Iteration& iteration) const;
  std::vector<Block> blocks_of(const std::set<std::uint32_t>& variables, Sums* sums) const;
  Result<Sum*> room_for(const Block& block, Sums* sums) const;
  void forget_replaced(const Block& block, Sum* own, Sums* sums) const;

  const model::Model& model_;
  std::set<std::uint32_t> for_others_, for_stores_, for_scripts_;
};

}  // namespace leat::server

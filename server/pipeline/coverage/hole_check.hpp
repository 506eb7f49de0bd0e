// SPDX-License-Identifier: Apache-2.0
// Whether the blocks of all ranks cover the global arrays, and none is covered by others. Nothing
// else would say that a position is wrong: each block by itself is right, what nobody wrote is fill
// values in the file, and of what several ranks wrote the file has that of the highest one.
//
// An iteration costs some ten nanoseconds per block: what covers an array is found out once for
// each set of boxes, which variables share and which stays from one iteration to the next.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/model/model.hpp"
#include "server/pipeline/coverage/boxes.hpp"
#include "server/state/iterations/iteration.hpp"
#include "server/state/iterations/result.hpp"

namespace leat::server {

class HoleCheck {
 public:
  /// After so many different sets of holes the last one stands for all further ones of a variable.
  static constexpr std::size_t kMostTold = 8;

  /// `from_start`: it sees all iterations. Else nothing is said of what is written once: ranks may
  /// have written of it before. `all_ranks`: of the run are here; else there are no holes to see.
  /// `kept_apart`: variables that are not checked, since nobody makes one array of their blocks.
  HoleCheck(const model::Model& model, bool from_start, bool all_ranks = true,
            const std::set<std::uint32_t>& kept_apart = {});

  /// One finding for each variable with holes, and one for each with blocks that are covered by
  /// others, the same one as long as the boxes are the same.
  /// Variables that nobody wrote have none. What is written once may come from ranks in iterations
  /// that follow each other; it is judged one later. Only for iterations that are complete, with
  /// all ranks of the run.
  std::vector<Finding> check(const Iteration& iteration);
  /// Of what is written once and came last.
  std::vector<Finding> finish();

 private:
  using Blocks = std::span<const Block>;
  /// What a set of boxes leaves free, and which of them, in the order in which they are written,
  /// nothing is stored of.
  struct Coverage {
    FreeCells free;
    std::vector<std::size_t> covered;
  };
  struct Variable {
    bool checked = false, may_have_holes = false;
    std::uint64_t boxes = 0;                    // the set that was judged last, as a hash
    std::shared_ptr<const Coverage> coverage;   // of that set
    std::string told_covered;                   // "" until it is said
    std::map<std::uint64_t, std::string> told;  // by the free cells, as a hash
    std::map<std::pair<std::int32_t, std::uint32_t>, Block>
        once;                      // what came, of what is written once
    std::int64_t once_since = -1;  // not yet judged
  };

  void judge(std::uint32_t variable, Blocks blocks, std::int64_t iteration,
             std::vector<Finding>* findings);
  void note_once(std::uint32_t variable, Blocks blocks, std::int64_t iteration);
  void judge_once(std::int64_t before, std::vector<Finding>* findings);
  std::uint64_t hash_of(const model::Layout& layout, Blocks blocks) const noexcept;
  std::shared_ptr<const Coverage> coverage_of(const model::Layout& layout, Blocks blocks,
                                              std::uint64_t hash);
  std::string describe_covered(std::uint32_t variable, Blocks blocks) const;
  const std::string& text_of_holes(std::uint32_t variable, Blocks blocks);
  std::string describe(std::uint32_t variable, Blocks blocks) const;
  const model::Layout& layout_of(std::uint32_t variable) const {
    return model_.layouts[model_.variables[variable].layout];
  }

  const model::Model& model_;
  bool all_ranks_;
  std::vector<Variable> variables_;
  std::unordered_map<std::uint64_t, std::shared_ptr<const Coverage>> known_;  // by set of boxes
};

}  // namespace leat::server

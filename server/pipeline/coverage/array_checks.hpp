// SPDX-License-Identifier: Apache-2.0
// What can be wrong with a global array though each block of it is right, and blocks that are not what was written.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/model/model.hpp"
#include "server/pipeline/coverage/boxes.hpp"
#include "server/state/iterations/iteration.hpp"

namespace leat::server {

// Whether the blocks of all ranks cover the global arrays, and none is covered by others. Nothing
// else would say that a position is wrong: each block by itself is right, what nobody wrote is fill
// values in the file, and of what several ranks wrote the file has that of the highest one.
//
// An iteration costs some ten nanoseconds per block: what covers an array is found out once for
// each set of boxes, which variables share and which stays from one iteration to the next.

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
  /// others and have other values there, the same one as long as the boxes are the same.
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
        once;                                   // what came, of what is written once
    std::int64_t once_since = -1;               // not yet judged
    bool once_differs = false;                  // blocks of it that lie on each other
    std::optional<std::uint32_t> once_alike{};  // all so far are the same values of one part
  };

  /// `differs`: what lies on each other; nothing: not looked at yet.
  void judge(std::uint32_t variable, Blocks blocks, std::int64_t iteration,
             std::optional<bool> differs, std::vector<Finding>* findings);
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

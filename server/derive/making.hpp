// SPDX-License-Identifier: Apache-2.0
// One iteration while variables of it are made of others: what there is so far, and what was wrong.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "lib/model/model.hpp"
#include "server/derive/block_inputs.hpp"
#include "server/derive/derived_memory.hpp"
#include "server/derive/periods.hpp"
#include "server/state/iterations/iteration.hpp"

namespace leat::server {

/// What was wrong with an iteration.
struct DerivationWrong {
  std::vector<BlockProblem> problems;  ///< blocks that are not there
  std::vector<Finding> findings;       ///< values that are not as somebody may think
};

class Making {
 public:
  /// All outlive it. What is made is in `from`, too, for what is made of it.
  Making(const model::Model& model, DerivedFrom* from, Iteration* iteration, DerivationWrong* wrong)
      : model(model), from(*from), iteration(*iteration), wrong_(*wrong) {}

  const model::Variable& variable(std::uint32_t number) const { return model.variables[number]; }
  const model::Derived& derived(std::uint32_t number) const { return *variable(number).derived; }
  const model::Layout& layout_of(std::uint32_t number) const {
    return model.layouts[variable(number).layout];
  }
  std::size_t dims_of(std::uint32_t number) const { return layout_of(number).dimensions.size(); }
  bool has_blocks(std::uint32_t number) const {
    const auto found = from.blocks.find(number);
    return found != from.blocks.end() && !found->second.empty();
  }

  /// Another server has it in its files: here it is for what is made of it alone.
  bool is_told_elsewhere(std::uint32_t number) const { return told_elsewhere_.count(number) > 0; }
  void add(const Block& block, bool is_told_elsewhere);
  /// A period of this number is over with the iteration; of what is told when the run is over, from the first begin to the last end.
  void add_window(std::uint32_t period, const PeriodTold& told);
  /// All servers have it in each iteration in which it is made.
  bool is_of_run(std::uint32_t number) const { return of_run_.count(number) > 0; }
  void note_of_run(std::uint32_t number) { of_run_.insert(number); }
  void pin(std::uint32_t number, const std::shared_ptr<DerivedMemory::Piece>& piece) {
    iteration.pins[number] = piece;
  }

  /// This block of that variable is not there.
  void lose(const Block& block, std::uint32_t number, const std::string& why);
  /// Of a variable. `what`: the kind of finding.
  void find(const char* what, std::uint32_t number, const std::string& text);

  const model::Model& model;
  DerivedFrom& from;
  Iteration& iteration;

 private:
  DerivationWrong& wrong_;
  std::set<std::uint32_t> told_elsewhere_, of_run_;
};

}  // namespace leat::server

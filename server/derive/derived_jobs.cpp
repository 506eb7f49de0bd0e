// SPDX-License-Identifier: Apache-2.0
#include "server/derive/derived_jobs.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "lib/base/text.hpp"
#include "server/derive/coordinates.hpp"
#include "server/derive/inputs_of_neighbours.hpp"

namespace leat::server {
namespace {

// Who has written what goes with it has written that, too.
void expect_main(std::uint32_t variable, Making* making) {
  const model::Derived& derived = making->derived(variable);
  std::set<std::pair<std::int32_t, std::uint32_t>> there;
  for (const Block& each : making->from.blocks.at(derived.main))
    there.insert({each.rank, each.block});
  for (const model::Derived::Input& input : derived.inputs) {
    if (input.is_parameter || input.number == derived.main ||
        !making->variable(input.number).time_varying ||
        making->dims_of(input.number) != making->dims_of(derived.main))
      continue;
    for (const Block& each : making->from.blocks.at(input.number)) {
      if (!there.insert({each.rank, each.block}).second) continue;
      making->lose(each, variable,
                   fmt::format("not made: rank {} has no block {} of \"{}\" in this iteration",
                               each.rank, each.block, making->variable(derived.main).name));
    }
  }
}

// What is between its last face and the next one belongs to the block that has both.
void leave_last_out(std::size_t along, Block* block) {
  if (block->position[along] + block->extent[along] < block->global[along]) --block->extent[along];
}

}  // namespace

std::vector<DerivedJob> jobs_of(std::uint32_t variable, Making* making) {
  std::vector<DerivedJob> jobs;
  const model::Derived& derived = making->derived(variable);
  for (const model::Derived::Input& each : derived.inputs) {
    if (!each.is_parameter && !making->has_blocks(each.number)) return jobs;
  }
  expect_main(variable, making);
  std::vector<model::Selected> parts;
  const std::optional<NotSelected> none = select_now(making->model, making->from, derived, &parts);
  if (none && !none->is_unknown)
    making->find("place", variable, "nothing is selected: " + none->why);
  for (const Block& of : making->from.blocks.at(derived.main))
    if (none && none->is_unknown) making->lose(of, variable, "not made: " + none->why);
  if (none) return jobs;
  const BlockInputs inputs(making->model, making->from);
  const InputsOfNeighbours of_neighbours(making->model, making->from, derived, parts);
  const model::Layout& layout = making->layout_of(variable);
  const std::size_t dims = derived.reduction ? derived.is_reduced.size() : layout.dimensions.size();
  for (const Block& of : making->from.blocks.at(derived.main)) {
    DerivedJob job;
    job.block = of;
    std::string why = inputs.find(derived, of, &job.inputs);
    job.block.checksum.reset();
    job.block.lease = 0;
    job.block.file = nullptr;
    if (!parts.empty() &&
        !inputs.select(making->layout_of(derived.main), parts, &job.block, &job.inputs))
      continue;
    if (of_neighbours.shares_last()) leave_last_out(*derived.along, &job.block);
    if (why.empty()) why = of_neighbours.compute(of, job.extents(dims), &job.inputs, &job.computed);
    job.block.variable = variable;
    const std::int64_t elements = elements_of(job.block.extent.data(), dims);
    job.block.bytes = static_cast<std::uint64_t>(elements) * scalar_bytes(layout.type);
    if (why.empty())
      jobs.push_back(std::move(job));
    else
      making->lose(job.block, variable, why);
  }
  return jobs;
}

std::shared_ptr<DerivedMemory::Piece> make_room(std::uint32_t variable, DerivedMemory* memory,
                                                std::vector<DerivedJob>* jobs, Making* making) {
  std::uint64_t bytes = 0;
  for (const DerivedJob& job : *jobs)
    bytes += job.tells ? round_up(job.block.bytes, kBlockAlignment) : 0;
  const bool tells_any =
      std::any_of(jobs->begin(), jobs->end(), [](const DerivedJob& job) { return job.tells; });
  if (!tells_any) return nullptr;
  Result<std::shared_ptr<DerivedMemory::Piece>> piece = memory->take(bytes);
  std::uint64_t at = 0;
  for (DerivedJob& job : *jobs) {
    if (!job.tells) continue;
    if (!piece) {
      job.tells = false;
      making->lose(job.block, variable, "it could not be made: " + piece.error().message);
      continue;
    }
    job.block.data = (*piece)->start + at;
    job.block.shared = piece->get();
    at += round_up(job.block.bytes, kBlockAlignment);
  }
  return piece ? std::move(*piece) : nullptr;
}

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// Variables without a global shape: the blocks of all parts, row by row, ordered by rank and block.
#include <algorithm>

#include "server/plugins/hdf5/conventions/stored_tables.hpp"
#include "server/plugins/hdf5/view/block_tables.hpp"
#include "server/plugins/hdf5/view/view.hpp"

namespace leat::hdf5 {
namespace {

// Slots of a part in one row that are slots of the view: `count` from `from` on.
struct SlotRun {
  std::size_t part;
  hsize_t row, from, to, count;
};

std::vector<SlotRun> slot_runs(const std::vector<StoredBlock>& blocks) {
  std::vector<SlotRun> runs;
  for (hsize_t to = 0; to < blocks.size(); ++to) {
    const StoredBlock& block = blocks[to];
    SlotRun* last = runs.empty() ? nullptr : &runs.back();
    if (last && last->part == block.part && block.slot == last->from + last->count) {
      ++last->count;
    } else {
      runs.push_back({block.part, block.row, block.slot, to, 1});
    }
  }
  return runs;
}

// Mappings of (row, slots); what lies behind them in a dataset is added by with_rest().
Mapping mapping_of_run(const SlotRun& run, hsize_t row, bool constant) {
  Mapping mapping{run.part, {run.from}, {run.count}, {run.to}, {run.count}};
  if (constant) return mapping;
  mapping.from = joined(run.row, mapping.from);
  mapping.to = joined(row, mapping.to);
  mapping.from_count = mapping.to_count = joined(1, mapping.to_count);
  return mapping;
}

Mapping with_rest(Mapping mapping, const Shape& rest) {
  for (Shape* starts : {&mapping.from, &mapping.to}) starts->insert(starts->end(), rest.size(), 0);
  for (Shape* counts : {&mapping.from_count, &mapping.to_count})
    counts->insert(counts->end(), rest.begin(), rest.end());
  return mapping;
}

struct SlotMappings {
  MappingList list;
  hsize_t slots = 0;  // of the row that has most

  void add(const std::vector<StoredBlock>& blocks, hsize_t row, bool constant) {
    for (const SlotRun& run : slot_runs(blocks)) list.add(mapping_of_run(run, row, constant));
    slots = std::max<hsize_t>(slots, blocks.size());
  }
};

// A dataset of (row, slot, rest...), of which each part maps its own rest.
void add_slot_dataset(View& view, const ViewedVariable& variable, const std::string& name,
                      const std::string& source, const SlotMappings& slots) {
  const std::size_t before = variable.constant ? 1 : 2;
  Shape front{slots.slots}, rest;
  if (!variable.constant) front = joined(view.rows.size(), front);
  VirtualPlan plan = plan_for(view, name, source, {});
  for (const Shape& extents : plan.source_extents) {
    if (extents.empty()) continue;
    rest.resize(extents.size() - before, 0);
    for (std::size_t d = 0; d < rest.size(); ++d) rest[d] = std::max(rest[d], extents[before + d]);
  }
  plan.extents = front;
  plan.extents.insert(plan.extents.end(), rest.begin(), rest.end());
  for (const Mapping& mapping : slots.list.all()) {
    const Shape own = behind(plan.source_extents[mapping.part], before);
    plan.mappings.push_back(with_rest(mapping, own));
  }
  const Part& widest = view.parts[widest_part(view, source, variable.first)];
  create_virtual(view.file, plan, open_dataset(widest.file, source));
}

void add_table(View& view, const ViewedVariable& variable, const std::string& suffix,
               const SlotMappings& slots, const std::vector<DimensionName>& names) {
  const std::string source = table_of(view.parts[variable.first].file, variable.name, suffix);
  if (source.empty()) return;
  view.done.insert(source);
  const std::string name = view.scales.take_name(variable.name + suffix);
  add_slot_dataset(view, variable, name, source, slots);
  name_dimensions(view, name, !variable.constant, names);
}

void add_tables(View& view, const ViewedVariable& variable, const SlotMappings& slots,
                std::size_t dims) {
  const DimensionName of_slots{variable.name + "_slot", 0, true};
  for (const char* suffix : {"_count", "_rank", "_block"})
    add_table(view, variable, suffix, slots, {of_slots});
  add_table(view, variable, "_extent", slots, {of_slots, {variable.name + "_dims", dims}});
}

}  // namespace

void add_slots(View& view, const ViewedVariable& variable) {
  BlockTables tables(view, variable, false);
  SlotMappings slots;
  for (hsize_t row = 0; row < tables.rows(); ++row)
    slots.add(tables.blocks_in(row), row, variable.constant);
  const std::size_t before = variable.constant ? 1 : 2;
  const Shape like = extents_of(variable.like());
  const std::size_t dims = like.size() - before;
  add_slot_dataset(view, variable, variable.name, variable.name, slots);
  const std::vector<std::string> own = own_dimensions(variable, dims);
  std::vector<DimensionName> names{{variable.name + "_slot", 0, true}};
  for (std::size_t d = 0; d < dims; ++d) names.push_back({own[d], like[before + d]});
  name_dimensions(view, variable.name, !variable.constant, names, own);
  add_tables(view, variable, slots, dims);
}

void add_ragged(View& view, const ViewedVariable& variable) {
  BlockTables tables(view, variable, true);
  SlotMappings slots;
  MappingList data;
  hsize_t total = 0;
  for (hsize_t row = 0; row < tables.rows(); ++row) {
    const std::vector<StoredBlock> blocks = tables.blocks_in(row);
    slots.add(blocks, row, variable.constant);
    Mapping run;
    const auto add_run = [&] {
      if (!run.to.empty() && run.to_count[0] > 0) data.add(run);
    };
    for (const StoredBlock& block : blocks) {
      const auto count = static_cast<hsize_t>(block.count);
      const bool goes_on = !run.to.empty() && run.part == block.part &&
                           run.from[0] + run.from_count[0] == block.from;
      if (!goes_on) {
        add_run();
        run = {block.part, {block.from}, {0}, {total}, {0}};
      }
      run.from_count[0] += count;
      run.to_count[0] += count;
      total += count;
    }
    add_run();
  }
  const Shape like = extents_of(variable.like());
  const Shape rest = behind(like);
  VirtualPlan plan = plan_for(view, variable.name, variable.name, joined(total, rest));
  for (const Mapping& mapping : data.all()) plan.mappings.push_back(with_rest(mapping, rest));
  create_virtual(view.file, plan, variable.like());
  const std::vector<std::string> own = own_dimensions(variable, like.size());
  const std::string extent = table_of(view.parts[variable.first].file, variable.name, "_extent");
  std::vector<DimensionName> names{{variable.name + "_element", 0, true}};
  for (std::size_t d = 1; d < like.size(); ++d) names.push_back({own[d], like[d]});
  name_dimensions(view, variable.name, false, names,
                  extent.empty() ? own : std::vector<std::string>{});
  const std::size_t dims =
      extent.empty() ? like.size() : extents_in(view.parts[variable.first].file, extent).back();
  add_tables(view, variable, slots, dims);
}

}  // namespace leat::hdf5

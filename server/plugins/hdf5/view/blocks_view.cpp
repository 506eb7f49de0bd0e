// SPDX-License-Identifier: Apache-2.0
// Variables without a global shape: the blocks of all parts, row by row, ordered by level, rank and
// number.
#include <algorithm>
#include <limits>

#include "server/plugins/hdf5/conventions/coordinates.hpp"
#include "server/plugins/hdf5/conventions/table_attributes.hpp"
#include "server/plugins/hdf5/view/block_tables.hpp"
#include "server/plugins/hdf5/view/view.hpp"

namespace leat::hdf5 {
namespace {

// What stands beside the variable, block by block: of a part, and of the view.
class OfBlocks {
 public:
  OfBlocks(View& view, const ViewedVariable& variable, const std::string& suffix, std::size_t width)
      : suffix_(suffix), width_(width), in_part_(view.parts.size()) {
    for (std::size_t part = 0; part < in_part_.size(); ++part) {
      if (!variable.in_part[part].is_open()) continue;
      const std::string name = table_of(view.parts[part].file, variable.name, suffix);
      if (name.empty()) continue;
      view.done.insert(name);
      in_part_[part] = RowTable(view.parts[part].file, name, true);
      const Id type(H5Dget_type(open_dataset(view.parts[part].file, name)), name);
      if (H5Tget_size(type) > sizeof(std::int32_t))
        room_for_ = std::numeric_limits<std::int64_t>::max();
    }
  }

  // `otherwise`: of each block of a part that has no such table.
  void add(const RecordRun& run, const std::vector<std::int64_t>& otherwise) {
    std::vector<std::int64_t> here;
    if (in_part_[run.part].exists()) here = in_part_[run.part].rows(run.from, run.count);
    while (here.size() < run.count * width_)
      here.insert(here.end(), otherwise.begin(), otherwise.end());
    all_.insert(all_.end(), here.begin(), here.end());
  }

  const std::vector<std::int64_t>& all() const { return all_; }

  // Of (block), or (block, width).
  void write(View& view, const ViewedVariable& variable, MergedBlocks* blocks,
             const TableKind& kind, bool is_list) const {
    const std::string name = view.scales.take_name(variable.name + suffix_);
    Shape extents{blocks->size()};
    std::vector<DimensionName> names;
    if (!is_list) {
      extents.push_back(width_);
      names.push_back({variable.name + "_dims", width_});
    }
    const Dataset made = write_table(view, name, all_, extents, room_for_);
    describe_table(made, variable.name, kind, "");
    name_dimensions(view, name, &blocks->scale(), names);
  }

 private:
  std::string suffix_;
  std::size_t width_;
  std::vector<RowTable> in_part_;
  std::int64_t room_for_ = 0;  // what the tables of parts have room for
  std::vector<std::int64_t> all_;
};

Mapping with_rest(Mapping mapping, const Shape& rest) {
  for (Shape* starts : {&mapping.from, &mapping.to}) starts->insert(starts->end(), rest.size(), 0);
  for (Shape* counts : {&mapping.from_count, &mapping.to_count})
    counts->insert(counts->end(), rest.begin(), rest.end());
  return mapping;
}

// Which attributes name the table, which is called otherwise in some part.
void name_table(View& view, const ViewedVariable& variable, const MergedBlocks& blocks,
                bool is_coordinate_list) {
  const Id dataset = open_dataset(view.file, variable.name);
  set_attribute(dataset, kBlockTable, blocks.name());
  if (!is_coordinate_list) return;
  set_attribute(dataset, "coordinates", coordinates_of_blocks(blocks.coordinates(), variable.name));
}

void write_stored(View& view, const ViewedVariable& variable, MergedBlocks* blocks,
                  const std::vector<std::int64_t>& flags) {
  if (std::count(flags.begin(), flags.end(), 0) == 0) return;
  DatasetPlan plan = growing_list(flags.size());
  plan.chunk = {std::clamp<hsize_t>(flags.size(), 1, plan.chunk[0])};
  plan.fill = {0};
  const std::string name = view.scales.take_name(variable.name + kStoredSuffix);
  const std::vector<std::int8_t> bytes(flags.begin(), flags.end());
  Dataset mask(view.file, name, H5T_NATIVE_INT8, plan);
  mask.write({0}, {bytes.size()}, bytes.data());
  describe_mask(mask, stored_blocks_of(variable.name), "");
  name_dimensions(view, name, &blocks->scale(), {});
}

// In each part, of each record where its elements begin; and where all end.
std::vector<std::vector<hsize_t>> starts_of(const View& view, const ViewedVariable& variable) {
  std::vector<std::vector<hsize_t>> all(view.parts.size());
  for (std::size_t part = 0; part < all.size(); ++part) {
    if (!variable.in_part[part].is_open()) continue;
    const hid_t file = view.parts[part].file;
    all[part].push_back(0);
    for (const std::int64_t count : integers_of(file, table_of(file, variable.name, "_count")))
      all[part].push_back(all[part].back() +
                          static_cast<hsize_t>(std::max<std::int64_t>(0, count)));
  }
  return all;
}

bool has_other_sizes(const std::vector<std::int64_t>& sizes, const Shape& usual) {
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] >= 0 && static_cast<hsize_t>(sizes[i]) != usual[i % usual.size()]) return true;
  }
  return false;
}

}  // namespace

void add_blocks(View& view, const ViewedVariable& variable) {
  MergedBlocks& blocks = view.tables.of(view, variable);
  VirtualPlan plan = plan_for(view, variable.name, variable.name, {}, variable.unlike);
  Shape rest;
  for (const Shape& extents : plan.source_extents) {
    rest.resize(std::max(rest.size(), extents.empty() ? 0 : extents.size() - 1), 0);
    for (std::size_t d = 0; d + 1 < extents.size(); ++d)
      rest[d] = std::max(rest[d], extents[d + 1]);
  }
  plan.extents = joined(blocks.size(), rest);
  OfBlocks sizes(view, variable, "_extent", rest.size());
  OfBlocks stored(view, variable, kStoredSuffix, 1);
  MappingList data;
  for (const RecordRun& run : blocks.runs()) {
    const Shape& source = plan.source_extents[run.part];
    const bool is_there = !source.empty();
    stored.add(run, {is_there ? 1 : 0});
    const Shape own = behind(source);
    sizes.add(run, is_there ? std::vector<std::int64_t>(own.begin(), own.end())
                            : std::vector<std::int64_t>(rest.size(), -1));
    if (is_there) data.add({run.part, {run.from}, {run.count}, {run.to}, {run.count}});
  }
  for (const Mapping& mapping : data.all())
    plan.mappings.push_back(with_rest(mapping, behind(plan.source_extents[mapping.part])));
  create_virtual(view.file, plan, variable.like());
  const std::vector<std::string> own = own_dimensions(variable, rest.size());
  std::vector<DimensionName> names;
  for (std::size_t d = 0; d < rest.size(); ++d) names.push_back({own[d], rest[d]});
  name_dimensions(view, variable.name, &blocks.scale(), names, own);
  name_table(view, variable, blocks, true);
  if (!rest.empty() && has_other_sizes(sizes.all(), rest))
    sizes.write(view, variable, &blocks, extents_of_blocks(0), false);
  write_stored(view, variable, &blocks, stored.all());
}

void add_ragged(View& view, const ViewedVariable& variable) {
  MergedBlocks& blocks = view.tables.of(view, variable);
  const Shape like = extents_of(variable.like()), rest = behind(like);
  const std::string extent = table_of(view.parts[variable.first].file, variable.name, "_extent");
  const bool is_flat = !extent.empty();
  const std::size_t dims =
      is_flat ? extents_in(view.parts[variable.first].file, extent).back() : like.size();
  OfBlocks counts(view, variable, "_count", 1), sizes(view, variable, "_extent", dims);
  const std::vector<std::vector<hsize_t>> starts = starts_of(view, variable);
  MappingList data;
  hsize_t total = 0;
  for (const RecordRun& run : blocks.runs()) {
    counts.add(run, {-1});
    if (is_flat) sizes.add(run, std::vector<std::int64_t>(dims, -1));
    if (!variable.in_part[run.part].is_open()) continue;
    const hsize_t from = starts[run.part].at(run.from);
    const hsize_t here = starts[run.part].at(run.from + run.count) - from;
    if (here > 0) data.add({run.part, {from}, {here}, {total}, {here}});
    total += here;
  }
  VirtualPlan plan =
      plan_for(view, variable.name, variable.name, joined(total, rest), variable.unlike);
  for (const Mapping& mapping : data.all()) plan.mappings.push_back(with_rest(mapping, rest));
  create_virtual(view.file, plan, variable.like());
  const std::vector<std::string> own = own_dimensions(variable, like.size());
  const WantedElements wanted{own.front(), variable.name + "_element", 0, counts.all()};
  std::vector<DimensionName> names(1);
  names[0].scale = &blocks.elements().find_or_make(view.file, view.scales, wanted).scale();
  for (std::size_t d = 1; d < like.size(); ++d) names.push_back({own[d], like[d]});
  name_dimensions(view, variable.name, false, names, is_flat ? std::vector<std::string>{} : own);
  name_table(view, variable, blocks, false);
  counts.write(view, variable, &blocks, counts_of_blocks(0), true);
  if (is_flat) sizes.write(view, variable, &blocks, extents_of_blocks(0), false);
}

}  // namespace leat::hdf5

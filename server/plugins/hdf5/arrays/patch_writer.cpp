// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/arrays/patch_writer.hpp"

#include <algorithm>
#include <set>

#include "server/plugins/hdf5/arrays/block_check.hpp"
#include "server/plugins/hdf5/base/types.hpp"
#include "server/plugins/hdf5/conventions/part_axes.hpp"

namespace leat::hdf5 {
namespace {

constexpr std::uint64_t kSmallestPatch = 16 * 1024;

// What a chunk is made from: of small blocks each has its own, and large ones have several.
Shape usual_size(const std::vector<Patch>& patches, std::uint64_t bytes_each) {
  Shape least, most;
  for (const Patch& patch : patches) {
    if (!patch.is_there()) continue;
    if (least.empty()) least = most = patch.count;
    for (std::size_t d = 0; d < least.size(); ++d) {
      least[d] = std::min(least[d], patch.count[d]);
      most[d] = std::max(most[d], patch.count[d]);
    }
  }
  return product(least) * bytes_each >= kSmallestPatch ? least : most;
}

}  // namespace

PatchWriter::PatchWriter(const Place& place, const leat_variable& variable, const BlockList& first)
    : axes_(place, variable), variable_(variable) {
  std::vector<Patch> patches;
  for (const leat_block* block : first) patches.push_back(patch_of(*block));
  Shape size = usual_size(patches, H5Tget_size(type_of(variable.type)));
  size.resize(variable.dims, 0);
  make_data(size);
  const std::size_t width = numbers_of_patch(variable.dims);
  table_ = axes_.make_list("_region", width);
  records_ = table_.extents()[0];
  std::vector<std::int64_t> all(records_ * width);
  table_.read({0, 0}, {records_, width}, all.data());
  for (hsize_t i = 0; i < records_; ++i) {
    Patch patch = patch_of_record(&all[i * width], variable.dims);
    now_[{patch.rank, patch.block}] = std::move(patch);
  }
}

void PatchWriter::make_data(const Shape& extents) {
  std::vector<DimensionName> names{{axes_.name() + "_slot", 0, true}};
  for (unsigned d = 0; d < variable_.dims; ++d)
    names.push_back({axes_.name() + "_" + variable_.dimension[d].name, 0, true});
  const Shape slot = joined(0, extents);
  data_ = axes_.make(slot, names, slot);
  if (!data_.is_new()) return;
  set_attribute(data_.id(), "leat_patches", std::int64_t{1});
  for (unsigned d = 0; d < variable_.dims; ++d) {
    const std::optional<AxisValues> axis = axes_.place_name_of(d, 0).values;
    if (axis) note_axis(data_.id(), d, *axis);
  }
}

Patch PatchWriter::patch_of(const leat_block& block) const {
  Patch patch;
  patch.rank = block.rank;
  patch.block = block.block;
  patch.count = own_extents(variable_, block);
  for (unsigned d = 0; d < variable_.dims; ++d) {
    patch.start.push_back(static_cast<hsize_t>(std::max<std::int64_t>(0, block.position[d])));
    patch.global.push_back(static_cast<hsize_t>(block.global[d]));
  }
  if (!patch.is_there()) patch.count = patch.start = zeros(patch.count);
  return patch;
}

void PatchWriter::write(hsize_t row, const BlockList& blocks, BlockErrors* errors) {
  const Shape global = patch_of(*blocks.front()).global;
  close_others(row, blocks);
  for (const leat_block* block : blocks) {
    Patch patch = patch_of(*block);
    try {
      if (patch.global != global)
        throw std::runtime_error("its global extents differ from those of the iteration's first");
      patch.slot = slot_of({patch.rank, patch.block});
      if (patch.is_there()) write_block(row, *block, patch);
      note(row, std::move(patch));
    } catch (const std::exception& e) {
      errors->add(*block, e.what());
    }
  }
}

void PatchWriter::write_block(hsize_t row, const leat_block& block, const Patch& patch) {
  const MemoryPart memory = own_part(variable_, block);
  const auto slot = static_cast<hsize_t>(patch.slot);
  data_.grow_to(axes_.with_row(row + 1, joined(slot + 1, patch.count)));
  data_.write(axes_.with_row(row, joined(slot, zeros(patch.count))),
              axes_.with_row(1, joined(1, patch.count)), block.data, memory);
}

// Blocks of before that are not written now: their place may be another block's, on any node.
void PatchWriter::close_others(hsize_t row, const BlockList& blocks) {
  if (!axes_.has_rows()) return;
  std::set<Key> here;
  for (const leat_block* block : blocks) here.insert({block->rank, block->block});
  std::vector<Patch> gone;
  for (const auto& [key, patch] : now_) {
    if (patch.is_there() && here.count(key) == 0) gone.push_back(patch);
  }
  for (Patch& patch : gone) {
    patch.count = patch.start = zeros(patch.count);
    note(row, std::move(patch));
  }
}

std::int64_t PatchWriter::slot_of(const Key& key) const {
  const auto known = now_.find(key);
  return known != now_.end() ? known->second.slot : static_cast<std::int64_t>(now_.size());
}

void PatchWriter::note(hsize_t row, Patch patch) {
  const Key key{patch.rank, patch.block};
  const auto before = now_.find(key);
  if (before != now_.end() && before->second.lies_like(patch)) return;
  patch.row = static_cast<std::int64_t>(axes_.has_rows() ? row : 0);
  const std::vector<std::int64_t> record = record_of(patch);
  table_.grow_to({records_ + 1, record.size()});
  table_.write({records_, 0}, {1, record.size()}, record.data());
  ++records_;
  now_[key] = std::move(patch);
}

void PatchWriter::grow_to_rows(hsize_t rows) {
  data_.grow_to(axes_.with_row(rows, Shape(variable_.dims + 1, 0)));
}

}  // namespace leat::hdf5

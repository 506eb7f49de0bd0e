// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/arrays/blocks.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>

#include "server/include/plugin.hpp"
#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/conventions/coordinates.hpp"
#include "server/plugins/hdf5/conventions/nodes.hpp"

namespace leat::hdf5 {

std::vector<int> places_of(const leat_run& run) {
  std::vector<int> places;
  for (std::uint64_t i = 0; i < run.variable_count; ++i) {
    const leat_variable& variable = *leat_variable_at(&run, i);
    places.push_back(is_coordinate_variable(variable)      ? 0
                     : leat_variable_mesh(&run, &variable) ? 1
                                                           : 2);
  }
  for (std::uint64_t i = 0; i < run.variable_count; ++i) {
    const leat_variable& variable = *leat_variable_at(&run, i);
    for (unsigned d = 0; d < variable.dims; ++d) {
      if (const leat_variable* nodes = rectilinear_coordinate(run, variable, d))
        places[static_cast<std::size_t>(leat_variable_number(&run, nodes))] = 0;
    }
  }
  return places;
}

std::vector<BlockList> by_variable_of(const leat_iteration_data& data,
                                      const std::vector<int>& places) {
  std::vector<BlockList> lists;
  for (const leat_block& block : Blocks(data)) {
    if (lists.empty() || lists.back().front()->variable != block.variable) lists.emplace_back();
    lists.back().push_back(&block);
  }
  const auto place = [&places](const BlockList& blocks) {
    return places[blocks.front()->variable];
  };
  std::stable_sort(lists.begin(), lists.end(), [&place](const BlockList& a, const BlockList& b) {
    return place(a) < place(b);
  });
  return lists;
}

namespace {

// More have no room in the places of their cells.
constexpr std::int32_t kMostLevels = 64;

void check_size(const leat_variable& variable, const leat_block& block) {
  const std::string extents = "its extents " + listed(std::span(block.extent, variable.dims));
  std::uint64_t bytes = H5Tget_size(type_of(variable.type));
  for (unsigned d = 0; d < variable.dims; ++d) {
    if (block.extent[d] < 0) throw std::runtime_error(extents + " are negative");
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(block.extent[d]), &bytes))
      throw std::runtime_error(extents + " are more than there can be");
  }
  if (bytes == block.bytes) return;
  throw std::runtime_error(extents + " make " + std::to_string(bytes) + " bytes, and it has " +
                           std::to_string(block.bytes));
}

void check_place(const leat_variable& variable, const leat_block& block) {
  if (!block.has_position) throw std::runtime_error("it has no place in the global array");
  for (unsigned d = 0; d < variable.dims; ++d) {
    const leat_dimension& dimension = variable.dimension[d];
    if (block.extent[d] > 0 && block.extent[d] < dimension.ghost_low + dimension.ghost_high)
      throw std::runtime_error("it is smaller than its ghosts in dimension \"" +
                               std::string(dimension.name) + "\"");
    const std::int64_t own = own_cells(variable, block, d), at = block.position[d];
    if (block.global[d] < 0)
      throw std::runtime_error("the global extents " +
                               listed(std::span(block.global, variable.dims)) + " are negative");
    if (own == 0 || (at >= 0 && own <= block.global[d] && at <= block.global[d] - own)) continue;
    throw std::runtime_error("from position " + std::to_string(at) + ", " + std::to_string(own) +
                             " cells in dimension \"" + dimension.name +
                             "\", it does not lie inside the global array " +
                             listed(std::span(block.global, variable.dims)));
  }
}

void check_level(const leat_mesh& mesh, const leat_variable& variable, const leat_block& block) {
  if (mesh.dims != variable.dims)
    throw std::runtime_error("its mesh \"" + std::string(mesh.name) + "\" has " +
                             std::to_string(mesh.dims) + " axes");
  if (!leat_block_has_level(&block))
    throw std::runtime_error("it has no level of the mesh \"" + std::string(mesh.name) +
                             "\": leat_set_level() says which");
  if (block.level < 0 || block.level >= kMostLevels)
    throw std::runtime_error("its level is " + std::to_string(block.level) +
                             ", and there are 0 to " + std::to_string(kMostLevels - 1));
}

}  // namespace

std::int64_t own_cells(const leat_variable& variable, const leat_block& block, unsigned d) {
  const leat_dimension& dimension = variable.dimension[d];
  return std::max<std::int64_t>(0, block.extent[d] - dimension.ghost_low - dimension.ghost_high);
}

Shape own_extents(const leat_variable& variable, const leat_block& block) {
  Shape extents;
  for (unsigned d = 0; d < variable.dims; ++d)
    extents.push_back(static_cast<hsize_t>(own_cells(variable, block, d)));
  return extents;
}

MemoryPart own_part(const leat_variable& variable, const leat_block& block) {
  MemoryPart part;
  part.count = own_extents(variable, block);
  for (unsigned d = 0; d < variable.dims; ++d) {
    part.extents.push_back(static_cast<hsize_t>(block.extent[d]));
    part.start.push_back(static_cast<hsize_t>(variable.dimension[d].ghost_low));
  }
  return part;
}

void check_block(const leat_variable& variable, const leat_block& block, const leat_mesh* amr) {
  check_size(variable, block);
  if (variable.has_global) check_place(variable, block);
  if (amr) check_level(*amr, variable, block);
}

namespace {

// Variables on an amr mesh share its blocks; others of the same dimensions have the same ones, as a
// rule.
WantedBlocks described(const leat_run& run, std::uint32_t number) {
  const leat_variable& variable = *leat_variable_at(&run, number);
  const leat_mesh* amr = amr_mesh_of(run, variable);
  WantedBlocks wanted{number, "", {variable.time_varying != 0}, {}};
  if (amr) {
    wanted.kind.levels.emplace(*amr);
    wanted.shape = std::string("amr ") + amr->name;
    return wanted;
  }
  for (unsigned d = 0; d < variable.dims; ++d)
    wanted.shape += std::string(variable.dimension[d].name) + ",";
  return wanted;
}

bool is_only_block(const BlockList& blocks) {
  return blocks.size() == 1 && blocks.front()->block == 0;
}

// One block in each iteration, which has no other dimension than its own, and always one size: of
// others only the tables of blocks tell how large each is.
bool stays_single(const Target& target, const leat_variable& variable, const BlockList& blocks) {
  const std::uint32_t number = blocks.front()->variable;
  if (target.blocks.of(number) || varies_in_shape(variable) || amr_mesh_of(target.run, variable))
    return false;
  const bool is_known = is_in(target.file, variable.name);
  const Shape extents = own_extents(variable, *blocks.front());
  const Shape* const first = target.blocks.single(number);
  // Coordinates of a dimension are as long as that.
  const bool is_like_it = first && (*first == extents || is_coordinate_variable(variable));
  if (is_known && !is_like_it) return false;
  const bool is_part = is_one_of_several_nodes(target.run);  // of one rank, on a staging node
  if (target.run.ranks != 1 || is_part || !is_only_block(blocks)) return false;
  target.blocks.note_single(number, extents);
  return true;
}

}  // namespace

void begin_blocks(const Target& target, const std::vector<SoundBlocks>& sound, hsize_t row,
                  std::int64_t iteration, const std::vector<std::int64_t>& pending) {
  std::vector<WantedBlocks> all;
  for (const auto& [number, blocks, errors] : sound) {
    if (blocks.empty()) continue;
    const leat_variable& variable = *leat_variable_at(&target.run, number);
    if (variable.has_global || stays_single(target, variable, blocks)) continue;
    WantedBlocks wanted = described(target.run, number);
    // Larger numbers have no room in the tables.
    for (const leat_block* block : blocks) {
      if (block->block <= static_cast<std::uint32_t>(std::numeric_limits<std::int32_t>::max()))
        wanted.entries.insert(entry_of(variable, *block));
    }
    all.push_back(std::move(wanted));
  }
  target.blocks.begin_row(row, iteration, all, pending);
}

void resume_blocks(const Target& target, std::uint32_t variable, hsize_t rows) {
  const leat_variable& known = *leat_variable_at(&target.run, variable);
  if (known.has_global) return;
  const Id dataset = open_dataset(target.file, known.name);
  const std::string table = fixed_attribute(dataset, kBlockTable);
  if (!table.empty())
    return target.blocks.resume(variable, described(target.run, variable), table, rows);
  const Shape extents = extents_of(dataset);
  target.blocks.note_single(variable, behind(extents, known.time_varying ? 1 : 0));
}

namespace {

constexpr std::uint64_t kSmall = 64ull * 1024;
// So many at least, up to the end of a chunk: HDF5 writes whole chunks as they are, and those of
// which it gets a part twice.
constexpr std::uint64_t kTogether = 1024ull * 1024, kMost = 4 * kTogether;

// Runs that lie in memory in one piece, one by one: of dimensions behind one that is there in part,
// all, where there are no ghosts.
void pack(const char* data, const MemoryPart& memory, std::uint64_t element,
          std::vector<char>* to) {
  const std::size_t dims = memory.count.size();
  if (product(memory.count) == 0) return;
  std::uint64_t row = element;
  Shape at = zeros(memory.count), step(dims, 1);
  bool is_in_one = true;
  for (std::size_t d = dims; d-- > 0 && is_in_one;) {
    step[d] = memory.count[d];
    row *= memory.count[d];
    is_in_one = memory.count[d] == memory.extents[d];
  }
  do {
    std::uint64_t from = 0;
    for (std::size_t d = 0; d < dims; ++d)
      from = from * memory.extents[d] + memory.start[d] + at[d];
    to->insert(to->end(), data + from * element, data + from * element + row);
  } while (next_piece(memory.count, step, &at));
}

}  // namespace

RowBuffer::RowBuffer(Dataset* to) : to_(*to), element_(H5Tget_size(to->type())) {}

bool RowBuffer::fits(const Shape& start, const Shape& count, std::uint64_t bytes) const {
  return bytes < kSmall && behind(count) == behind(to_.extents()) &&
         behind(start) == zeros(behind(start));
}

void RowBuffer::add(const Shape& start, const Shape& count, const void* data,
                    const MemoryPart& memory) {
  const std::uint64_t bytes = product(count) * element_;
  const bool is_small = fits(start, count, bytes);
  if (!is_small || start[0] != first_ + waiting_) write_waiting();
  if (!is_small) return to_.write(start, count, data, memory);
  if (waiting_ == 0) first_ = start[0];
  pack(static_cast<const char*>(data), memory, element_, &values_);
  waiting_ += count[0];
  const bool is_end_of_chunk = (first_ + waiting_) % to_.rows_of_chunk() == 0;
  if (values_.size() >= (is_end_of_chunk ? kTogether : kMost)) write_waiting();
}

void RowBuffer::flush() {
  write_waiting();
  if (!failed_.empty()) throw std::runtime_error(failed_);
}

void RowBuffer::write_waiting() {
  if (waiting_ == 0) return;
  const Shape rest = behind(to_.extents());
  const Shape start = joined(first_, zeros(rest)), count = joined(waiting_, rest);
  try {
    to_.write(start, count, values_.data());
  } catch (const std::exception& e) {
    failed_ = e.what();
  }
  waiting_ = 0;
  values_.clear();
}

}  // namespace leat::hdf5

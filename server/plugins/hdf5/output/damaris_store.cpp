// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output/damaris_store.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>

#include "server/plugins/common/errno_text.hpp"
#include "server/plugins/hdf5/arrays/blocks.hpp"
#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/conventions/nodes.hpp"
#include "server/plugins/hdf5/filters/filters.hpp"
#include "server/plugins/hdf5/output/cell_order.hpp"
#include "server/plugins/hdf5/output/h5_file.hpp"
#include "server/plugins/hdf5/output/options.hpp"

namespace leat::hdf5 {
namespace {

constexpr std::uint64_t kSmallestCompressed = 4ull * 1024;

Shape global_extents(const leat_variable& variable, const leat_block& block) {
  return Shape(block.global, block.global + variable.dims);
}

// What a dataset in one piece needs no chunks for. `fill`: nothing where all of it is written.
DatasetPlan plan_for(const leat_run& run, const leat_variable& variable, const Shape& extents,
                     std::vector<std::uint8_t> fill) {
  DatasetPlan plan{extents, std::vector<bool>(extents.size()), {}, {}, std::move(fill)};
  const std::uint64_t bytes = H5Tget_size(type_of(variable.type));
  if (extents.empty() || product(extents) * bytes < kSmallestCompressed) return plan;
  plan.compression = compression_of(run, variable);
  if (plan.compression) plan.chunk = behind(chunk_of_compressed(extents, bytes));
  return plan;
}

// What `leat ls` knows a variable by, and what people want to know of it.
void describe_dataset(const Dataset& dataset, const leat_variable& variable, std::uint32_t number) {
  set_attribute(dataset.id(), "leat_layout", kDamarisLayout);
  set_attribute(dataset.id(), "leat_number", std::int64_t{number});
  if (*variable.unit) set_attribute(dataset.id(), "units", variable.unit);
  if (*variable.description) set_attribute(dataset.id(), "long_name", variable.description);
}

void describe_place(const Dataset& dataset, const leat_variable& variable,
                    const leat_block& block) {
  const auto numbers = [&](const char* name, const std::int64_t* values) {
    set_attribute(dataset.id(), name, std::vector<std::int64_t>(values, values + variable.dims));
  };
  if (variable.dims == 0) return;
  if (block.has_position) numbers("global", block.global);
  const bool has_level = leat_block_has_level(&block) != 0;
  if (block.has_position || has_level) numbers("position", block.position);
  if (has_level) set_attribute(dataset.id(), "level", std::int64_t{block.level});
}

// What has no global shape, like coordinates, is often the same on all ranks: then one is all.
bool are_equal(const leat_variable& variable, const BlockList& blocks) {
  const leat_block& first = *blocks.front();
  return std::all_of(blocks.begin(), blocks.end(), [&](const leat_block* each) {
    return std::equal(first.extent, first.extent + variable.dims, each->extent) &&
           (each->bytes == 0 || std::memcmp(first.data, each->data, each->bytes) == 0);
  });
}

std::string place_of(const leat_variable& variable, const leat_block& block, bool several_blocks) {
  std::string place = std::string(variable.name) + "/P" + std::to_string(block.rank);
  if (several_blocks) place += "/B" + std::to_string(block.block);
  return place;
}

bool share_cells(const leat_variable& variable, const leat_block& a, const leat_block& b) {
  const Shape of_a = own_extents(variable, a), of_b = own_extents(variable, b);
  for (unsigned d = 0; d < variable.dims; ++d) {
    if (a.position[d] >= b.position[d] + static_cast<std::int64_t>(of_b[d]) ||
        b.position[d] >= a.position[d] + static_cast<std::int64_t>(of_a[d]))
      return false;
  }
  return true;
}

// Blocks of which no two share cells fill the whole when they have as many cells.
bool fill_all_of(const leat_variable& variable, BlockList blocks, const Shape& global) {
  std::uint64_t cells = 0;
  for (const leat_block* block : blocks) cells += product(own_extents(variable, *block));
  if (cells < product(global)) return false;
  const auto low = [](const leat_block* block) { return block->position[0]; };
  std::sort(blocks.begin(), blocks.end(),
            [&](const leat_block* a, const leat_block* b) { return low(a) < low(b); });
  for (auto one = blocks.begin(); one != blocks.end(); ++one) {
    const std::int64_t end = low(*one) + static_cast<std::int64_t>(own_extents(variable, **one)[0]);
    for (auto other = one + 1; other != blocks.end() && low(*other) < end; ++other)
      if (share_cells(variable, **one, **other)) return false;
  }
  return true;
}

bool is_one_of_several(const leat_block* block) { return block->block != 0; }

}  // namespace

DamarisFile::DamarisFile(const std::string& path, const leat_run& run, const Host& host,
                         const Plan& plan, CellOrder* order)
    : path_(path),
      run_(run),
      plan_(plan),
      order_(order),
      disk_(open_disk(path, CommittedFile::Start::anew, run, host)),
      file_(create_file(path, disk_.get())) {}

std::string DamarisFile::write(const leat_iteration_data& data,
                               const std::vector<BlockList>& by_variable) {
  reserve_room(disk_.get(), data);
  Lent lent(*disk_, by_variable, leat_iteration_waiting(&data));
  std::string errors;
  for (SoundBlocks& blocks : sound_of(run_, by_variable)) {
    try {
      write_variable(&blocks);
      blocks.errors.raise();
    } catch (const std::exception& e) {
      errors += (errors.empty() ? "" : "; ") + std::string(e.what());
    }
  }
  if (const int code = lent.give_back(); code != 0)
    throw std::runtime_error(std::string("cannot write blocks: ") + errno_text(code));
  describe(data, errors.empty() && data.complete != 0);
  return errors;
}

void DamarisFile::describe(const leat_iteration_data& data, bool whole) {
  describe_writer(file_, run_);
  set_attribute(file_, "leat_layout", kDamarisLayout);
  set_attribute(file_, kIteration, data.iteration);
  set_attribute(file_, "iteration_complete", std::int64_t{whole});
  const double time = time_of(run_, data);
  if (!std::isnan(time)) set_attribute(file_, "time", std::vector<double>{time});
}

void DamarisFile::write_variable(SoundBlocks* blocks) {
  if (blocks->list.empty()) return;
  const leat_variable& variable = *leat_variable_at(&run_, blocks->variable);
  const bool is_collective = plan_.mode == FileMode::collective;
  if (is_collective && variable.has_global && order_->has(blocks->variable))
    write_in_order(variable, blocks);
  else if (is_collective && variable.has_global)
    write_whole(variable, blocks);
  else if (is_collective && are_equal(variable, blocks->list))
    write_block(variable, blocks->variable, *blocks->list.back(), variable.name);
  else
    write_blocks(variable, blocks);
}

void DamarisFile::write_blocks(const leat_variable& variable, SoundBlocks* blocks) {
  const bool several = plan_.several_blocks ||
                       std::any_of(blocks->list.begin(), blocks->list.end(), is_one_of_several);
  for (const leat_block* block : blocks->list) {
    blocks->errors.attempt(*block, [&] {
      write_block(variable, blocks->variable, *block, place_of(variable, *block, several));
    });
  }
}

void DamarisFile::write_block(const leat_variable& variable, std::uint32_t number,
                              const leat_block& block, const std::string& place) {
  const MemoryPart memory = own_part(variable, block);
  Dataset dataset(file_, place, type_of(variable.type), plan_for(run_, variable, memory.count, {}));
  dataset.write(zeros(memory.count), memory.count, block.data, memory);
  describe_dataset(dataset, variable, number);
  describe_place(dataset, variable, block);
}

Dataset DamarisFile::make_whole(const leat_variable& variable, const SoundBlocks& blocks,
                                bool has_holes) {
  Dataset dataset(file_, variable.name, type_of(variable.type),
                  plan_for(run_, variable, global_extents(variable, *blocks.list.front()),
                           has_holes ? fill_value(variable.type) : std::vector<std::uint8_t>{}));
  describe_dataset(dataset, variable, blocks.variable);
  return dataset;
}

// Blocks of which it is not known where their values go are stored as those of other variables, each
// by itself: nothing is lost, and nobody takes one order for the other.
void DamarisFile::write_in_order(const leat_variable& variable, SoundBlocks* blocks) {
  const Shape global = global_extents(variable, *blocks->list.front());
  CellOrder::Array array;
  try {
    for (const leat_block* block : blocks->list) {
      if (global_extents(variable, *block) != global)
        throw std::runtime_error("the global extents of its ranks differ");
    }
    array = order_->arrange(blocks->variable, blocks->list, product(global));
  } catch (const std::exception& e) {
    write_blocks(variable, blocks);
    throw std::runtime_error(std::string(e.what()) + ": stored by ranks, /" + variable.name +
                             "/P<rank>, each in the order in which it was written");
  }
  make_whole(variable, *blocks, array.has_holes).write({0}, global, array.values.data());
}

// Blocks that lie on each other: that of the highest rank, which comes last, is stored.
void DamarisFile::write_whole(const leat_variable& variable, SoundBlocks* blocks) {
  const Shape global = global_extents(variable, *blocks->list.front());
  Dataset dataset = make_whole(variable, *blocks, !fill_all_of(variable, blocks->list, global));
  if (order_->is_index(blocks->variable)) note_parts(dataset.id(), variable, blocks->list);
  for (const leat_block* block : blocks->list) {
    blocks->errors.attempt(*block, [&] {
      if (global_extents(variable, *block) != global)
        throw std::runtime_error("its global extents differ from those of the iteration's first");
      const MemoryPart memory = own_part(variable, *block);
      dataset.write(Shape(block->position, block->position + variable.dims), memory.count,
                    block->data, memory);
    });
  }
}

void DamarisFile::publish() {
  check(H5Fclose(file_.take()), "cannot finish " + path_);
  for (const int code : {disk_->commit(), disk_->finish(), disk_->publish()}) {
    if (code != 0) throw std::runtime_error("cannot write " + path_ + ": " + errno_text(code));
  }
  if (durability_of(run_) == Durability::none) return;
  if (const int code = disk_->named().sync_folder(); code != 0)
    throw std::runtime_error("its name is not on the disk: " + errno_text(code));
}

namespace {

std::string choice_of(const leat_run& run, const char* name, const std::string& otherwise = "") {
  return option(run.options, run.option_count, name, otherwise);
}

DamarisFile::Plan plan_of(const leat_run& run, const Host& host) {
  check_options(run);
  DamarisFile::Plan plan;
  plan.mode = *file_mode_from(choice_of(run, kFileMode, "FilePerCore"));
  plan.several_blocks = choice_of(run, kDomains, "1") != "1";
  if (plan.mode == FileMode::collective && is_one_of_several_nodes(run)) {
    host.warn(std::string("store \"") + run.store + "\": " + kFileMode +
              "=\"Collective\" makes one file of the blocks of one node, and this run has several: "
              "each server writes a file of its own, as with \"FilePerDedicatedCore\"" +
              (choice_of(run, kSelectFile).empty()
                   ? ""
                   : "; blocks are in it by rank, each in its own order, beside their index"));
    plan.mode = FileMode::per_server;
  }
  return plan;
}

// Blocks by themselves keep the order in which they were written, as with Damaris.
std::string order_of(const leat_run& run, FileMode mode) {
  return mode == FileMode::collective ? choice_of(run, kSelectFile) : "";
}

}  // namespace

bool DamarisStore::makes_whole(const leat_run& run, std::uint64_t variable) {
  if (choice_of(run, kFileMode) != "Collective") return false;
  const auto index_of = select_file_from(choice_of(run, kSelectFile));
  return !index_of || index_of->count(leat_variable_at(&run, variable)->name) == 0;
}

DamarisStore::DamarisStore(const leat_run& run, Host host)
    : run_(run),
      host_(host),
      places_(places_of(run)),
      plan_(plan_of(run, host)),
      names_(run, host, plan_.mode),
      order_(run, host, order_of(run, plan_.mode)) {
  if (leat_run_is_resumed(&run)) order_.recover(names_.stored());
  host_.info("writing " + names_.of_all());
}

void DamarisStore::iteration(const leat_iteration_data& data) {
  be_quiet();
  const std::vector<BlockList> by_variable = by_variable_of(data, places_);
  order_.note(by_variable);
  if (by_variable.empty() || names_.is_stored(data.iteration)) return;
  std::string path = names_.of(data.iteration), errors;
  try {
    path = names_.make_room_for(data.iteration);
    DamarisFile file(path, run_, host_, plan_, &order_);
    errors = file.write(data, by_variable);
    file.publish();
  } catch (const std::exception& e) {
    throw std::runtime_error(path + ": not stored: " + e.what());
  }
  if (!errors.empty()) throw std::runtime_error(path + ": " + errors);
}

void DamarisStore::results(const leat_result_set& set) {
  if (warned_of_results_) return;
  warned_of_results_ = true;
  host_.warn(std::string("store \"") + run_.store + "\": what \"" + set.source +
             "\" has made is not stored in it: files of layout=\"damaris\" have no place for it. "
             "Give it a store of type hdf5 without that option, and this one products=\"\"");
}

}  // namespace leat::hdf5

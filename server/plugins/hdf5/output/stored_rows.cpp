// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output/stored_rows.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <stdexcept>
#include <tuple>

#include "server/plugins/hdf5/arrays/blocks.hpp"
#include "server/plugins/hdf5/conventions/coordinates.hpp"
#include "server/plugins/hdf5/conventions/nodes.hpp"
#include "server/plugins/hdf5/datasets/dimension_scale.hpp"

namespace leat::hdf5 {
namespace {

// Of a block with ghosts, which are not stored: its own cells, and zeros around them.
std::vector<char> with_ghosts(const leat_variable& variable, const Shape& own,
                              std::vector<char> values, std::uint64_t element) {
  Shape all = own;
  bool any = false;
  for (unsigned d = 0; d < variable.dims; ++d) {
    const leat_dimension& dimension = variable.dimension[d];
    all[d] += static_cast<hsize_t>(dimension.ghost_low + dimension.ghost_high);
    any = any || all[d] != own[d];
  }
  if (!any || variable.dims == 0) return values;
  std::vector<char> padded(product(all) * element, 0);
  const std::uint64_t line = own.back() * element;
  Shape at = zeros(own), step(own.size(), 1);
  step.back() = own.back();
  for (std::uint64_t from = 0; from < values.size(); from += line) {
    std::uint64_t to = 0;
    for (std::size_t d = 0; d < all.size(); ++d)
      to = to * all[d] + at[d] + static_cast<hsize_t>(variable.dimension[d].ghost_low);
    std::memcpy(padded.data() + to * element, values.data() + from, line);
    next_piece(own, step, &at);
  }
  return padded;
}

leat_block* add_block(const leat_variable& variable, std::uint32_t number, const Shape& own,
                      std::vector<char> values, StoredIteration* to) {
  const std::uint64_t element = H5Tget_size(type_of(variable.type));
  to->values.push_back(with_ghosts(variable, own, std::move(values), element));
  leat_block block{};
  block.size = sizeof block;
  block.variable = number;
  for (unsigned d = 0; d < variable.dims; ++d)
    block.extent[d] = static_cast<std::int64_t>(own[d]) + variable.dimension[d].ghost_low +
                      variable.dimension[d].ghost_high;
  block.data = to->values.back().data();
  block.bytes = to->values.back().size();
  to->blocks.push_back(block);
  return &to->blocks.back();
}

std::vector<char> read_values(hid_t dataset, std::uint32_t type, const Shape& start,
                              const Shape& count, const std::string& name) {
  const Id of(type_of(type));
  std::vector<char> values(product(count) * H5Tget_size(of));
  if (!values.empty()) read_part(dataset, of, start, count, values.data(), "cannot read " + name);
  return values;
}

// Pieces of a chunk each, where the array was written in such: then each is a chunk of the new file too. Smaller ones are made for
// the whole array.
std::vector<Share> in_chunks(hid_t dataset, const Shape& global, bool has_rows) {
  constexpr std::uint64_t kSmallest = 64ull * 1024;  // as of make_grid_writer
  const Id creation(H5Dget_create_plist(dataset), "chunks of a dataset");
  const Id type(H5Dget_type(dataset), "type of a dataset");
  Shape chunk = chunk_of(creation);
  if (has_rows && !chunk.empty()) chunk.erase(chunk.begin());
  bool fits = chunk.size() == global.size() && product(global) > 0 &&
              product(chunk) * H5Tget_size(type) >= kSmallest;
  for (std::size_t d = 0; fits && d < global.size(); ++d) fits = global[d] % chunk[d] == 0;
  if (!fits) return {{0, 0, zeros(global), global}};
  std::vector<Share> all;
  Shape at = zeros(global);
  do {
    all.push_back({0, static_cast<std::uint32_t>(all.size()), at, chunk});
  } while (next_piece(global, chunk, &at));
  return all;
}

// What is not fill value lies within these extents; false: all is.
bool bounds_of(const std::vector<char>& values, const Shape& extents,
               const std::vector<std::uint8_t>& fill, Shape* bounds) {
  *bounds = zeros(extents);
  bool any = false;
  Shape at = zeros(extents);
  const Shape step(extents.size(), 1);
  for (std::size_t from = 0; from < values.size(); from += fill.size()) {
    if (std::memcmp(values.data() + from, fill.data(), fill.size()) != 0) {
      any = true;
      for (std::size_t d = 0; d < at.size(); ++d) (*bounds)[d] = std::max((*bounds)[d], at[d] + 1);
    }
    next_piece(extents, step, &at);
  }
  return any;
}

}  // namespace

// Which blocks of a global array a part has in each row. Rows are asked for one after the other.
struct StoredRows::SubArrays {
  using Key = std::pair<std::int64_t, std::int64_t>;  // rank and block, the order of an iteration

  SubArrays(hid_t file, const std::string& variable, unsigned dims) {
    const std::size_t width = numbers_of_sub_array(dims);
    const std::vector<std::int64_t> numbers =
        integers_of(file, table_of(file, variable, "_region"));
    for (std::size_t at = 0; at + width <= numbers.size(); at += width)
      records.push_back(sub_array_of_record(&numbers[at], dims));
  }

  /// Those that it has, and those that came in this row without a cell.
  std::vector<SubArray> in(std::int64_t row) {
    if (next > 0 && row < records[next - 1].row) now.clear(), next = 0;
    for (; next < records.size() && records[next].row <= row; ++next) {
      SubArray& last = now[{records[next].rank, records[next].block}];
      first.try_emplace({records[next].rank, records[next].block}, records[next].row);
      last = records[next];
    }
    std::vector<SubArray> all;
    for (const auto& [key, each] : now)
      if (each.is_there() || first.at(key) == row) all.push_back(each);
    return all;
  }

  std::vector<SubArray> records;
  std::map<Key, SubArray> now;
  std::map<Key, std::int64_t> first;  // row in which a block came
  std::size_t next = 0;               // record
};

struct StoredRows::Variable {
  Variable(hid_t file, const leat_variable& of, std::uint32_t its_number, StoredBlockTables* tables)
      : described(of),
        number(its_number),
        name(of.name),
        data(open_dataset(file, name)),
        written(file, name, "_written"),
        global(file, name, "_global"),
        extents(file, name, "_extent") {
    if (!of.time_varying) row_of_constant = first_row(data);
    if (has_attribute(data, kPatches))
      sub_arrays = std::make_unique<SubArrays>(file, name, of.dims);
    const std::string table_name = fixed_attribute(data, kBlockTable);
    if (table_name.empty()) return;
    table = &tables->of(file, table_name);
    records = std::make_unique<BlockRecords>(file, name, *table);
  }

  bool has_rows() const { return described.time_varying != 0; }
  bool is_in(hsize_t row) {
    if (!has_rows()) return row == row_of_constant;
    if (!written.exists()) return true;
    const std::vector<std::int64_t> flag = written.row(row);
    return !flag.empty() && flag[0] != 0;
  }

  const leat_variable& described;
  std::uint32_t number;
  std::string name;
  Id data;
  mutable RowTable written, global, extents;
  hsize_t row_of_constant = 0;
  StoredBlockTable* table = nullptr;  // none: a single block is all that a row has
  std::unique_ptr<BlockRecords> records;
  std::unique_ptr<SubArrays> sub_arrays;  // in a part, of a variable with a global array
};

namespace {

// In the order in which they were made.
std::vector<std::string> members_of(hid_t file, const std::string& group) {
  std::vector<std::string> names;
  const Id opened(H5Gopen2(file, group.c_str(), H5P_DEFAULT), "cannot read " + group);
  const auto add = [](hid_t, const char* name, const H5L_info_t* link, void* to) -> herr_t {
    if (link->type == H5L_TYPE_HARD) static_cast<std::vector<std::string>*>(to)->push_back(name);
    return 0;
  };
  hsize_t at = 0;
  if (H5Literate(opened, H5_INDEX_CRT_ORDER, H5_ITER_INC, &at, add, &names) >= 0) return names;
  innermost_error();
  names.clear();
  at = 0;
  check(H5Literate(opened, H5_INDEX_NAME, H5_ITER_INC, &at, add, &names), "cannot read " + group);
  return names;
}

bool is_group(hid_t file, const std::string& name) {
  return is_in(file, name) && !is_dataset(file, name);
}

// By the type of the file, which is that in memory. 0: it is none of Leat's.
std::uint32_t scalar_of(hid_t dataset) {
  const Id type(H5Dget_type(dataset), "a type");
  for (std::uint32_t scalar = LEAT_INT8; scalar <= LEAT_CHAR; ++scalar)
    if (H5Tequal(type, type_of(scalar)) > 0) return scalar;
  return 0;
}

}  // namespace

struct StoredRows::ResultOf {
  std::string name, unit;
  std::uint32_t type = 0;
  std::vector<std::string> dimensions;
  Id dataset;
};

// A group of results, and a row of each for each iteration of which there are some.
struct StoredRows::ProductsOf {
  ProductsOf(hid_t file, const std::string& group, std::string whose, std::uint32_t of_kind)
      : source(std::move(whose)), kind(of_kind) {
    const std::vector<std::int64_t> numbers = integers_of(file, group + "/iteration");
    for (std::size_t row = 0; row < numbers.size(); ++row) row_of.try_emplace(numbers[row], row);
    for (const std::string& name : members_of(file, group)) {
      const std::string path = group + "/" + name;
      if (name == "iteration" || !is_dataset(file, path)) continue;
      ResultOf result{name, "", 0, {}, open_dataset(file, path)};
      if (is_scale(result.dataset)) continue;
      result.type = scalar_of(result.dataset);
      result.unit = text_attribute(result.dataset, "units", "");
      const std::size_t dims = extents_of(result.dataset).size();
      for (unsigned d = 1; d < dims; ++d) {
        const std::vector<std::string> scales = scales_of(result.dataset, d);
        std::string scale = scales.empty() ? "" : scales.front();
        result.dimensions.push_back(scale.substr(scale.rfind('/') + 1));
      }
      if (result.type == 0 || dims == 0)
        throw std::runtime_error(path + " is nothing that a script or plugin has made");
      results.push_back(std::move(result));
    }
  }

  std::string source;
  std::uint32_t kind;
  std::map<std::int64_t, hsize_t> row_of;
  std::vector<ResultOf> results;
};

StoredRows::StoredRows(hid_t file, const leat_run& run)
    : file_(file),
      complete_(file, "", "iteration_complete"),
      tables_(std::make_unique<StoredBlockTables>()) {
  const std::string numbers = table_of(file, "", "iteration");
  if (numbers.empty()) throw std::runtime_error("it has no iterations, not even none");
  iterations_ = integers_of(file, numbers);
  for (std::uint32_t i = 0; i < run.variable_count; ++i) {
    const leat_variable& variable = *leat_variable_at(&run, i);
    variables_.push_back(is_dataset(file, variable.name)
                             ? std::make_unique<Variable>(file, variable, i, tables_.get())
                             : nullptr);
  }
  find_parameters();
  find_products();
}

StoredRows::~StoredRows() = default;

void StoredRows::find_parameters() {
  for (std::string group : {"parameters", "parameters_"}) {
    if (!is_group(file_, group)) continue;
    for (const std::string& name : members_of(file_, group)) {
      const std::string path = group + "/" + name;
      if (!is_dataset(file_, path)) continue;
      Parameter parameter{"", 0, open_dataset(file_, path)};
      parameter.name = text_attribute(parameter.dataset, "leat_parameter", "");
      parameter.type = scalar_of(parameter.dataset);
      if (!parameter.name.empty()) parameters_.push_back(std::move(parameter));
    }
  }
}

void StoredRows::find_products() {
  const std::pair<std::string, std::uint32_t> roots[] = {{"scripts", LEAT_FROM_SCRIPT},
                                                         {"products", LEAT_FROM_PLUGIN}};
  for (const auto& [root, kind] : roots) {
    if (!is_group(file_, root)) continue;
    for (const std::string& source : members_of(file_, root)) {
      const std::string group = root + "/" + source;
      if (is_group(file_, group) && is_dataset(file_, group + "/iteration"))
        products_.push_back(std::make_unique<ProductsOf>(file_, group, source, kind));
    }
  }
}

std::int64_t StoredRows::started() const { return integer_attribute(file_, kStarted, 0); }

std::unique_ptr<StoredIteration> StoredRows::at(hsize_t row) {
  auto found = std::make_unique<StoredIteration>();
  for (const auto& variable : variables_)
    if (variable && variable->is_in(row)) add(*variable, row, found.get());
  add_parameters(row, found.get());
  leat_iteration_data& data = found->data;
  data.size = sizeof data;
  data.iteration = iterations_[row];
  data.blocks = found->blocks.data();
  data.block_count = found->blocks.size();
  data.block_stride = sizeof(leat_block);
  const std::vector<std::int64_t> complete = complete_.row(row);
  data.complete = !complete.empty() && complete[0] != 0;
  data.parameters = found->parameters.data();
  data.parameter_count = found->parameters.size();
  data.parameter_stride = sizeof(leat_parameter);
  add_window(row, &data);
  return found;
}

// Of a file of periods.
void StoredRows::add_window(hsize_t row, leat_iteration_data* data) const {
  const std::string bounds = scale_of_rows(file_) + kBoundsSuffix;
  if (!is_dataset(file_, bounds)) return;
  const Id dataset = open_dataset(file_, bounds);
  if (row >= extents_of(dataset)[0]) return;
  read_part(dataset, H5T_NATIVE_DOUBLE, {row, 0}, {1, 2}, data->window, "cannot read " + bounds);
  data->has_window = 1;
}

std::unique_ptr<StoredIteration> StoredRows::constant(std::uint32_t variable,
                                                      const std::vector<const leat_block*>& like) {
  auto found = std::make_unique<StoredIteration>();
  if (!variables_[variable]) return found;
  Variable& of = *variables_[variable];
  if (!of.described.has_global || of.sub_arrays) {
    add(of, 0, found.get());
    return found;
  }
  const Shape global = global_at(of, 0);
  std::vector<Share> shares;
  for (const leat_block* block : like) {
    Share share{block->rank, block->block, {}, own_extents(of.described, *block)};
    bool is_inside = std::equal(global.begin(), global.end(), block->global);
    for (unsigned d = 0; d < of.described.dims; ++d) {
      share.start.push_back(static_cast<hsize_t>(block->position[d]));
      is_inside = is_inside && share.start[d] + share.count[d] <= global[d];
    }
    if (is_inside) shares.push_back(std::move(share));
  }
  add_global(of, 0, global, shares, found.get());
  return found;
}

std::unique_ptr<StoredIteration> StoredRows::constants(
    const std::function<bool(std::uint32_t variable)>& wanted) {
  auto found = std::make_unique<StoredIteration>();
  for (const auto& variable : variables_)
    if (variable && !variable->has_rows() && (!wanted || wanted(variable->number)))
      add(*variable, 0, found.get());
  return found;
}

WithEarlier::WithEarlier(const leat_run& run, const leat_iteration_data& data,
                         const StoredIteration& earlier)
    : data_(data) {
  using Key = std::tuple<std::uint32_t, std::int32_t, std::uint32_t>;
  const auto key_of = [](const leat_block& block) {
    return Key(block.variable, block.rank, block.block);
  };
  const auto is_global = [&run](std::uint32_t variable) {
    return leat_variable_at(&run, variable)->has_global != 0;
  };
  std::set<Key> there;
  for (const leat_block& block : leat::Blocks(data)) there.insert(key_of(block));
  for (const leat_block& block : earlier.blocks)
    if (is_global(block.variable) || !there.contains(key_of(block))) blocks_.push_back(block);
  for (const leat_block& block : leat::Blocks(data)) {
    blocks_.emplace_back();
    std::memcpy(&blocks_.back(), &block, std::min<std::uint64_t>(block.size, sizeof(leat_block)));
  }
  std::stable_sort(blocks_.begin(), blocks_.end(), [&](const leat_block& a, const leat_block& b) {
    if (a.variable != b.variable || is_global(a.variable)) return a.variable < b.variable;
    return key_of(a) < key_of(b);
  });
  data_.blocks = blocks_.data();
  data_.block_count = blocks_.size();
  data_.block_stride = sizeof(leat_block);
}

// Ordered as blocks of an iteration are.
void StoredRows::add(Variable& variable, hsize_t row, StoredIteration* to) {
  const auto first = static_cast<std::ptrdiff_t>(to->blocks.size());
  if (variable.sub_arrays) return add_sub_arrays(variable, row, to);
  if (variable.described.has_global) {
    const Shape global = global_at(variable, row);
    const auto shares = in_chunks(variable.data, global, variable.has_rows());
    return add_global(variable, row, global, shares, to);
  }
  add_blocks(variable, row, to);
  std::sort(to->blocks.begin() + first, to->blocks.end(),
            [](const leat_block& a, const leat_block& b) {
              return std::pair(a.rank, a.block) < std::pair(b.rank, b.block);
            });
}

Shape StoredRows::global_at(const Variable& variable, hsize_t row) {
  const std::vector<std::int64_t> said = variable.has_rows()
                                             ? variable.global.row(row)
                                             : variable.global.rows(0, variable.global.size());
  Shape whole = extents_of(variable.data);
  if (variable.has_rows()) whole = behind(whole);
  for (std::size_t d = 0; d < said.size() && d < whole.size(); ++d)
    if (said[d] >= 0) whole[d] = static_cast<hsize_t>(said[d]);
  return whole;
}

Shape StoredRows::last_global(std::uint32_t variable) const {
  const auto& of = variables_[variable];
  if (of && of->sub_arrays)
    return of->sub_arrays->records.empty() ? Shape() : of->sub_arrays->records.back().global;
  if (!of || !of->described.has_global || of->global.exists()) return {};
  const Shape whole = extents_of(of->data);
  return of->has_rows() ? behind(whole) : whole;
}

void StoredRows::add_global(const Variable& variable, hsize_t row, const Shape& global,
                            const std::vector<Share>& shares, StoredIteration* to) {
  for (const Share& share : shares) {
    const Shape start = variable.has_rows() ? joined(row, share.start) : share.start;
    const Shape count = variable.has_rows() ? joined(1, share.count) : share.count;
    leat_block* const block = add_block(
        variable.described, variable.number, share.count,
        read_values(variable.data, variable.described.type, start, count, variable.name), to);
    block->rank = share.rank;
    block->block = share.block;
    block->has_position = 1;
    for (std::size_t d = 0; d < global.size(); ++d) {
      block->position[d] = static_cast<std::int64_t>(share.start[d]);
      block->global[d] = static_cast<std::int64_t>(global[d]);
    }
  }
}

// Each in its slot, and as small as it is.
void StoredRows::add_sub_arrays(Variable& variable, hsize_t row, StoredIteration* to) {
  const bool has_rows = variable.has_rows();
  for (const SubArray& each :
       variable.sub_arrays->in(has_rows ? static_cast<std::int64_t>(row) : 0)) {
    Shape start = joined(static_cast<hsize_t>(each.slot), zeros(each.count));
    Shape count = joined(1, each.count);
    if (has_rows) start = joined(row, start), count = joined(1, count);
    leat_block* const block = add_block(
        variable.described, variable.number, each.count,
        each.is_there()
            ? read_values(variable.data, variable.described.type, start, count, variable.name)
            : std::vector<char>(),
        to);
    block->rank = static_cast<std::int32_t>(each.rank);
    block->block = static_cast<std::uint32_t>(each.block);
    block->has_position = 1;
    for (std::size_t d = 0; d < each.global.size(); ++d) {
      block->position[d] = static_cast<std::int64_t>(each.start[d]);
      block->global[d] = static_cast<std::int64_t>(each.global[d]);
    }
  }
}

// Behind each other, or each iteration one.
void StoredRows::add_blocks(const Variable& variable, hsize_t row, StoredIteration* to) {
  const leat_variable& described = variable.described;
  const Shape all = extents_of(variable.data);
  if (!variable.records) {
    const Shape own = behind(all, variable.has_rows() ? 1 : 0);
    const Shape start = variable.has_rows() ? joined(row, zeros(own)) : zeros(own);
    const Shape count = variable.has_rows() ? joined(1, own) : own;
    add_block(described, variable.number, own,
              read_values(variable.data, described.type, start, count, variable.name), to);
    return;
  }
  const bool is_list = varies_in_shape(described), is_flat = varies_in_shape(described, 1);
  const StoredBlockTable::Range range = variable.table->row(row);
  const std::vector<BlockEntry> entries = variable.table->entries(range);
  for (const StoredBlock& stored : variable.records->row(row)) {
    Shape own = behind(all);
    if (is_list && !is_flat) own = joined(stored.count, own);
    if (is_flat || (!is_list && !stored.fills_place)) {
      own.clear();
      for (const std::int64_t extent : variable.extents.row(stored.record))
        own.push_back(static_cast<hsize_t>(std::max<std::int64_t>(0, extent)));
    }
    const Shape count = is_flat ? Shape{stored.count} : is_list ? own : joined(1, own);
    leat_block* const block =
        add_block(described, variable.number, own,
                  read_values(variable.data, described.type,
                              joined(stored.first, zeros(behind(all))), count, variable.name),
                  to);
    block->rank = static_cast<std::int32_t>(stored.owner.rank);
    block->block = static_cast<std::uint32_t>(stored.owner.number);
    const BlockEntry& entry = entries.at(stored.record - range.first);
    if (entry.level < 0) continue;
    block->has_level = 1;
    block->level = static_cast<std::int32_t>(entry.level);
    std::copy(entry.low.begin(), entry.low.end(), block->position);
  }
}

void StoredRows::add_parameters(hsize_t row, StoredIteration* to) const {
  for (const Parameter& each : parameters_) {
    leat_parameter parameter{};
    parameter.size = sizeof parameter;
    parameter.type = each.type;
    to->texts.push_back(each.name);
    parameter.name = to->texts.back().c_str();
    parameter.text = "";
    const Shape extents = extents_of(each.dataset);
    const Shape start = joined(row, zeros(behind(extents))), count = joined(1, behind(extents));
    if (row < extents[0]) {
      std::vector<char> bytes = read_values(each.dataset, each.type, start, count, each.name);
      if (each.type == LEAT_CHAR) {
        to->texts.emplace_back(bytes.begin(), std::find(bytes.begin(), bytes.end(), '\0'));
        parameter.text = to->texts.back().c_str();
        parameter.has_value = *parameter.text != 0;
      } else {
        const std::vector<std::uint8_t> none = fill_value(each.type);
        parameter.has_value = std::memcmp(none.data(), bytes.data(), none.size()) != 0;
        void* const value =
            each.type == LEAT_INT64 ? static_cast<void*>(&parameter.integer) : &parameter.real;
        std::memcpy(value, bytes.data(), bytes.size());
      }
    }
    to->parameters.push_back(parameter);
  }
}

std::vector<std::int64_t> StoredRows::with_products() const {
  std::set<std::int64_t> all;
  for (const auto& each : products_)
    for (const auto& [iteration, row] : each->row_of) all.insert(iteration);
  return {all.begin(), all.end()};
}

// A file does not say how large it was in this row, only what is behind it: fill value. What is nothing else was not made.
void StoredRows::add_result(const ResultOf& result, hsize_t row, StoredProducts* to) {
  const Shape all = behind(extents_of(result.dataset));
  const std::vector<char> values = read_values(result.dataset, result.type, joined(row, zeros(all)),
                                               joined(1, all), result.name);
  Shape own;
  if (!bounds_of(values, all, fill_value(result.type), &own)) return;
  to->values.push_back(own == all
                           ? values
                           : read_values(result.dataset, result.type, joined(row, zeros(all)),
                                         joined(1, own), result.name));
  leat_result made{};
  made.size = sizeof made;
  made.name = result.name.c_str();
  made.unit = result.unit.c_str();
  made.type = result.type;
  made.dims = static_cast<std::uint32_t>(own.size());
  for (std::size_t d = 0; d < own.size(); ++d) {
    made.dimension[d] = result.dimensions[d].c_str();
    made.extent[d] = static_cast<std::int64_t>(own[d]);
  }
  made.data = to->values.back().data();
  made.bytes = to->values.back().size();
  to->results.push_back(made);
}

std::vector<std::unique_ptr<StoredProducts>> StoredRows::products(std::int64_t iteration) const {
  std::vector<std::unique_ptr<StoredProducts>> all;
  for (const auto& of : products_) {
    const auto row = of->row_of.find(iteration);
    if (row == of->row_of.end()) continue;
    auto made = std::make_unique<StoredProducts>();
    for (const ResultOf& each : of->results) add_result(each, row->second, made.get());
    leat_result_set& set = made->set;
    set.size = sizeof set;
    set.source = of->source.c_str();
    set.iteration = iteration;
    set.results = made->results.data();
    set.result_count = made->results.size();
    set.result_stride = sizeof(leat_result);
    set.source_kind = of->kind;
    all.push_back(std::move(made));
  }
  return all;
}

}  // namespace leat::hdf5

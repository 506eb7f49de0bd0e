// SPDX-License-Identifier: Apache-2.0
// What a file of this store has, iteration by iteration, in the form in which ranks have given it: what another file is
// made of that has some of them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/include/plugin.hpp"
#include "server/plugins/hdf5/base/objects.hpp"
#include "server/plugins/hdf5/conventions/tables.hpp"

namespace leat::hdf5 {

/// A part of a global array, as a block has it. A file has the whole array, not who wrote what.
struct Share {
  std::int32_t rank = 0;
  std::uint32_t block = 0;
  Shape start, count;
};

/// A row of a file: `data` points into what is beside it.
struct StoredIteration {
  leat_iteration_data data{};
  std::vector<leat_block> blocks;
  std::deque<std::vector<char>> values;
  std::vector<leat_parameter> parameters;
  std::deque<std::string> texts;
};

/// What one script or plugin has made of an iteration, likewise.
struct StoredProducts {
  leat_result_set set{};
  std::vector<leat_result> results;
  std::deque<std::vector<char>> values;
};

/// An iteration, and what a file has already of what does not vary in time: ranks may write their parts of a variable in several
/// iterations. What the iteration has itself comes later, where both have the same cells, or alone, where both have the same block.
class WithEarlier {
 public:
  WithEarlier(const leat_run& run, const leat_iteration_data& data, const StoredIteration& earlier);
  WithEarlier(const WithEarlier&) = delete;
  const leat_iteration_data& data() const { return data_; }

 private:
  leat_iteration_data data_;
  std::vector<leat_block> blocks_;
};

class StoredRows {
 public:
  /// `file` and `run`, whose variables are those of the file, outlive this.
  StoredRows(hid_t file, const leat_run& run);
  ~StoredRows();
  StoredRows(const StoredRows&) = delete;

  /// By row.
  const std::vector<std::int64_t>& iterations() const { return iterations_; }
  /// As the file has it.
  std::string history() const { return text_attribute(file_, "history", ""); }
  /// Of a part: when it was begun.
  std::int64_t started() const;
  /// Global arrays in blocks for which a file with the same chunks is made.
  std::unique_ptr<StoredIteration> at(hsize_t row);
  /// Of what does not vary in time, the blocks that it has; of a global array those in the places of `like`.
  std::unique_ptr<StoredIteration> constant(std::uint32_t variable,
                                            const std::vector<const leat_block*>& like);

  /// All that does not vary in time, as a file is given it that has nothing yet; or of these variables only.
  std::unique_ptr<StoredIteration> constants(
      const std::function<bool(std::uint32_t variable)>& wanted = {});

  /// What a parameter was in each row; in the order in which the file has them.
  struct Parameter {
    std::string name;
    std::uint32_t type = 0;  ///< as leat_parameter has it
    Id dataset;
  };
  const std::vector<Parameter>& parameters() const { return parameters_; }
  /// Extents of a variable's global array in the last row; none for what has none.
  Shape last_global(std::uint32_t variable) const;

  /// Iterations that somebody has made something of.
  std::vector<std::int64_t> with_products() const;
  std::vector<std::unique_ptr<StoredProducts>> products(std::int64_t iteration) const;

 private:
  struct SubArrays;
  struct Variable;
  struct ResultOf;
  struct ProductsOf;

  void find_parameters();
  void find_products();
  static void add_result(const ResultOf& result, hsize_t row, StoredProducts* to);
  Shape global_at(const Variable& variable, hsize_t row);
  void add_global(const Variable& variable, hsize_t row, const Shape& global,
                  const std::vector<Share>& shares, StoredIteration* to);
  void add_sub_arrays(Variable& variable, hsize_t row, StoredIteration* to);
  void add_blocks(const Variable& variable, hsize_t row, StoredIteration* to);
  void add(Variable& variable, hsize_t row, StoredIteration* to);
  void add_parameters(hsize_t row, StoredIteration* to) const;
  void add_window(hsize_t row, leat_iteration_data* data) const;

  hid_t file_;
  std::vector<std::int64_t> iterations_;
  RowTable complete_;
  std::vector<std::unique_ptr<Variable>> variables_;  // of the run; null: not in the file
  std::unique_ptr<StoredBlockTables> tables_;
  std::vector<Parameter> parameters_;
  std::vector<std::unique_ptr<ProductsOf>> products_;
};

}  // namespace leat::hdf5

// SPDX-License-Identifier: Apache-2.0
// What the file says of each iteration: values of parameters, and which variables were written.
#pragma once

#include <map>
#include <string>

#include "server/plugins/hdf5/arrays/writer.hpp"

namespace leat::hdf5 {

// Values of the parameters at each iteration: "parameters/<name>" (iteration), integers or doubles,
// or characters (iteration, length) of texts. Where a parameter had no value yet is the least integer, NaN, or an empty text.

class ParameterTables {
 public:
  explicit ParameterTables(const Target& target);
  void write(hsize_t row, const leat_iteration_data& data);

 private:
  struct Table {
    Dataset dataset;
    std::size_t text_bytes = 0;
  };
  Table make(const leat_parameter& parameter, std::uint64_t bundle) const;
  void describe(const Dataset& table, const leat_parameter& parameter,
                const std::vector<std::uint8_t>& fill) const;
  void write_text(Table& table, hsize_t row, const char* text);

  Target target_;
  std::string group_;
  std::map<std::string, Table> tables_;
};

// Which iterations a variable was written in, when it was not in all of them: "<variable>_written"
// (iteration), 1 or 0. Its own dataset cannot tell fill values that a simulation wrote from none.

class WrittenMask {
 public:
  /// Of a variable that is not in the file yet.
  WrittenMask() = default;
  /// Of one that is there, in a file of `rows` rows.
  WrittenMask(const Target& target, const std::string& variable, hsize_t rows) : rows_(rows) {
    if (target.scales.has(target.scales.in_own_group(variable + kSuffix))) make(target, variable);
  }
  /// To be called with ascending rows; one that is left out counts as without the variable.
  void note(const Target& target, const std::string& variable, hsize_t row, bool written) {
    if (!table_.exists() && written && row == rows_) {
      ++rows_;
      return;
    }
    if (!table_.exists()) make(target, variable);
    const std::int8_t value = written;
    table_.grow_to({row + 1});
    table_.write({row}, {1}, &value);
  }

 private:
  static constexpr char kSuffix[] = "_written";

  void make(const Target& target, const std::string& variable) {
    DimensionScales& scales = target.scales;
    table_ = open_mask(target, scales.take_name(scales.in_own_group(variable + kSuffix)),
                       written_mask_of(variable), rows_);
    if (!table_.is_new()) return;
    const std::vector<std::int8_t> before(rows_, 1);
    table_.write({0}, {rows_}, before.data());
  }

  hsize_t rows_ = 0;  // all written, till there is a table
  Dataset table_;
};

}  // namespace leat::hdf5

// SPDX-License-Identifier: Apache-2.0
// What the file says of each iteration: values of parameters, and which variables were written.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

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
// What the disk has no room for is kept, and written with what comes next.

class WrittenMask {
 public:
  /// Of a variable that is not in the file yet.
  WrittenMask() = default;
  /// Of one that is there, in a file of `rows` rows.
  WrittenMask(const Target& target, const std::string& variable, hsize_t rows) : next_(rows) {
    if (target.scales.has(target.scales.in_own_group(variable + kSuffix))) make(target, variable);
  }
  /// To be called with ascending rows; one that is left out counts as without the variable.
  void note(const Target& target, const std::string& variable, hsize_t row, bool written) {
    const bool all_so_far = !table_.exists() && pending_.empty();
    if (all_so_far && written && row == next_) {
      ++next_;
      return;
    }
    if (all_so_far) pending_.assign(next_, 1);
    pending_.resize(pending_.size() + row - next_, 0);
    pending_.push_back(written ? 1 : 0);
    next_ = row + 1;
    settle(target, variable);
  }
  /// Writes what could not be written before.
  void settle(const Target& target, const std::string& variable) {
    if (pending_.empty()) return;
    if (!table_.exists()) make(target, variable);
    table_.grow_to({next_});
    table_.write({next_ - pending_.size()}, {pending_.size()}, pending_.data());
    pending_.clear();
  }

 private:
  static constexpr char kSuffix[] = "_written";

  void make(const Target& target, const std::string& variable) {
    DimensionScales& scales = target.scales;
    if (name_.empty()) name_ = scales.take_name(scales.in_own_group(variable + kSuffix));
    table_ = open_mask(target, name_, written_mask_of(variable));
  }

  hsize_t next_ = 0;  // row; all before it are noted, all written till there is a table
  std::vector<std::int8_t> pending_;  // of the rows before that, what the table does not have
  std::string name_;
  Dataset table_;
};

}  // namespace leat::hdf5

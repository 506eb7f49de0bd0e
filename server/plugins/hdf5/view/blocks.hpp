// SPDX-License-Identifier: Apache-2.0
// Variables without a global shape: tables of the blocks of all parts, and the datasets that they describe.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "server/plugins/hdf5/conventions/tables.hpp"
#include "server/plugins/hdf5/view/view.hpp"

namespace leat::hdf5 {

// Tables of blocks of the view: those that the parts have, merged row by row in the order of level,
// rank and number, as one server would have stored them. Variables that share a table in all parts share one in
// the view. They are written, not mapped: they are small.

/// Records of a part that are records of the view: `count` from `from` on, to `to`.
struct RecordRun {
  std::size_t part = 0;
  hsize_t from = 0, to = 0, count = 0;
};

/// One table of the view, and where its records lie in the parts.
class MergedBlocks {
 public:
  /// `names`: of the table in each part, "" where it has none.
  MergedBlocks(View& view, const std::string& wished, const std::vector<std::string>& names,
               bool constant);

  BlockTable& table() { return *table_; }
  const std::vector<RecordRun>& runs() const { return runs_; }

 private:
  void merge_row(const View& view, std::vector<StoredBlockTable>* tables, hsize_t row,
                 bool has_rows, BlockTable::Content* content);

  std::set<std::size_t> with_one_block_;  // pieces
  std::vector<RecordRun> runs_;
  std::optional<BlockTable> table_;
};

class MergedTables {
 public:
  /// Of these variables, in the order in which one server would store them.
  MergedTables(const std::vector<Part>& parts, const std::vector<ViewedVariable>& variables);
  /// That of a variable, which is made for the first that has it.
  MergedBlocks& of(View& view, const ViewedVariable& variable);
  /// Writes down what is named by their dimensions.
  void list_named();

 private:
  struct Group {
    std::string wished;              // name of the table
    std::vector<std::string> names;  // in each part, "" where none of its variables is
    std::set<std::string> shapes, variables;
    bool constant = false;
    std::unique_ptr<MergedBlocks> made;

    bool takes(const std::vector<std::string>& other, const std::string& shape) const;
  };
  Group& group_of(const std::vector<std::string>& names, const std::string& shape, bool constant);

  std::vector<Group> groups_;
};

/// Writes whole numbers as a new dataset of the view, which is small for what it says. Returns it.
/// `largest`: what it must have room for at least.
Dataset write_table(const View& view, const std::string& name,
                    const std::vector<std::int64_t>& numbers, const Shape& extents,
                    std::int64_t largest = 0);

}  // namespace leat::hdf5

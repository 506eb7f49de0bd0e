// SPDX-License-Identifier: Apache-2.0
// The blocks of one row of the view, out of the tables "<variable>_rank", "_block" and "_count" of
// all parts, in the order in which one server would have stored them.
#pragma once

#include <string>
#include <vector>

#include "server/plugins/hdf5/conventions/stored_tables.hpp"
#include "server/plugins/hdf5/view/view.hpp"

namespace leat::hdf5 {

struct StoredBlock {
  std::size_t part = 0;
  std::int64_t rank = 0, block = 0, count = 0;
  hsize_t row = 0, slot = 0;  ///< in the part
  hsize_t from = 0;           ///< ragged: where its elements begin in the part
};

class BlockTables {
 public:
  /// `ragged`: there are counts too.
  BlockTables(View& view, const ViewedVariable& variable, bool ragged);
  /// To be asked row by row, in ascending order; row 0 for what does not vary in time.
  std::vector<StoredBlock> blocks_in(hsize_t row);
  hsize_t rows() const { return variable_.constant ? 1 : view_.rows.size(); }

 private:
  struct OfPart {
    bool exists = false;
    RowTable ranks, numbers, counts;
    hsize_t next_row = 0, next_element = 0;
  };

  RowTable open_table(std::size_t part, const std::string& suffix);
  void add_blocks(std::size_t part, hsize_t row, std::vector<StoredBlock>* blocks);

  View& view_;
  const ViewedVariable& variable_;
  bool ragged_;
  std::vector<OfPart> of_part_;
};

}  // namespace leat::hdf5

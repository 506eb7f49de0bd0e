// SPDX-License-Identifier: Apache-2.0
// The parts of a run on several nodes, and the iterations that they have together.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "server/plugins/hdf5/base/objects.hpp"

namespace leat::hdf5 {

// What one server of several has written, opened to be shown in a view. Its writer may be at work:
// of it counts what was committed when its iterations were read, which is the first that is.

struct Part {
  std::string path;  ///< of the file
  std::string
      name;  ///< without folder and ending: "rank000004"; of a server that has several, each another one
  std::string root;  ///< where it is in the file: "", or "rank000004/" in one that servers share
  Id file;           ///< or that group of it
  std::string iteration_name;  ///< of the dataset with the numbers of iterations
  std::string rows_name;       ///< of what rows are called after: those, or the times
  std::int64_t ranks = 0, first_rank = 0, node_ranks = 0, started_ns = 0;
  std::string complete_name;             ///< of the flags; "" before the first iteration
  std::vector<std::int64_t> iterations;  ///< by row
  std::vector<std::uint8_t> complete;    ///< by row
  std::int64_t succession = 0;
  std::vector<std::int32_t> own_ranks;  ///< ascending; empty where they are not known
  bool is_piece = false;  ///< of its server, which has written others before and after it
  /// What /VTKHDF has, in a piece of the only server, shows the rest: a view has its own. A group of variables may be called so, too.
  bool shows_vtk = false;

  /// Its server went on with ranks of another one, which has a part too.
  bool goes_on() const { return succession > 1; }
};

/// How many writes its server says are lost; nothing before that has closed it.
std::optional<std::int64_t> losses_of(const Part& part);

/// One that has rows, by which the others are called; the first where none has.
const Part& part_with_rows(const std::vector<Part>& parts);

/// The files of `folder` that make up one run, by lowest rank; of an older run with the same
/// session name and other nodes nothing is among them. Throws when one cannot be read, and when
/// there is none.
/// With `left_out` those that cannot be read are left out, as long as there are others, and it gets
/// why, for each.
std::vector<Part> open_parts(const std::string& folder,
                             std::vector<std::string>* left_out = nullptr);

/// Of all servers that have a part in this file, ascending.
std::set<std::int64_t> iterations_in_shared(const std::string& path);

// The iterations of a view: those that any part has, in ascending order. What a server has stored twice, in two of its
// files, counts where it was begun first. Where a server went on with ranks of another one, it may have been given an iteration
// that the one before had stored already: that one's counts.

/// `count` rows of a part, from `from` on, that are rows of the view: from `to` on, `step` apart.
struct RowRun {
  hsize_t from = 0, to = 0, count = 0, step = 1;
};

class Rows {
 public:
  explicit Rows(const std::vector<Part>& parts);

  hsize_t size() const { return numbers_.size(); }
  const std::vector<std::int64_t>& numbers() const { return numbers_; }
  /// 1 where all ranks of the run are in the parts and have said that they were complete.
  std::vector<std::uint8_t> complete() const { return complete_; }
  /// Row of the part for a row of the view; -1 where the part has not stored that iteration.
  std::int64_t in_part(std::size_t part, hsize_t row) const { return in_part_[part][row]; }
  /// The rows [from, upto) of a part; `written`, when not empty, says of each of its rows whether
  /// it counts.
  std::vector<RowRun> runs(std::size_t part, hsize_t from, hsize_t upto,
                           const std::vector<std::uint8_t>& written) const;

 private:
  std::vector<std::int64_t> numbers_;
  std::vector<std::uint8_t> complete_;
  std::vector<std::vector<std::int64_t>> in_part_;
  std::vector<std::vector<std::int64_t>> of_part_;  // row of the view for each of the part; -1
};

}  // namespace leat::hdf5

// SPDX-License-Identifier: Apache-2.0
// split="...": the files that one server has written one after the other, as they are found by one that goes on.
#pragma once

#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/model/splitting.hpp"
#include "server/include/plugin.hpp"

namespace leat::hdf5 {

struct Piece {
  std::string path, split;  ///< split: in the words of to_text()
  double begin = 0;         ///< SplitPeriod::begin
  bool is_of_run = false;   ///< not of an earlier one
  std::int64_t started_ns = 0;
  double last_time = std::numeric_limits<double>::quiet_NaN();
  std::vector<std::int64_t> iterations;
  std::set<std::pair<std::string, std::int64_t>> products;  ///< group, iteration

  bool has_something_from(std::int64_t first) const;
  bool has_something_before(std::int64_t first) const;
};

/// Those of this server in `folder`, in the order in which they were begun. Their last commits are finished: nobody else may be
/// writing them. Those that cannot be read are none, and the log says so.
std::vector<Piece> pieces_in(const std::string& folder, const leat_run& run, const Host& host);

/// All files of this server in `folder`.
std::vector<std::string> files_of_server(const std::string& folder, const leat_run& run);

/// "rank000000.2000-01.h5" in `folder`.
std::string path_of_piece(const std::string& folder, const leat_run& run, const std::string& name);

/// What the option split says of a run. Throws where there is no such length.
model::Splitting splitting_of(const leat_run& run);
std::string split_text(const leat_run& run);
/// Why there are no such files; "" where there are.
std::string why_no_split(const leat_run& run);

}  // namespace leat::hdf5

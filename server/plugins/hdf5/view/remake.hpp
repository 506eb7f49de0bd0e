// SPDX-License-Identifier: Apache-2.0
// Makes the view of a run anew, outside of it: `leat view`.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "server/plugins/hdf5/disk/journal.hpp"
#include "server/plugins/hdf5/view/make_view.hpp"

namespace leat::hdf5 {

/// Which parts and which view somebody means who names `target`: a view; the folder of its parts;
/// or the folder above, when there is one run in it. `output`: "" for the name that the run gave
/// it. Throws with what to name instead.
struct ViewPlace {
  std::string folder, path;
};
ViewPlace view_place(const std::string& target, const std::string& output);

struct RemadeView {
  ViewFacts facts;                                               ///< what it shows
  int finished = 0;                                              ///< last commits, of parts
  std::vector<std::pair<std::string, LastCommit>> not_finished;  ///< by part
};

/// Finishes the last commits of parts whose writers were killed, and makes the view.
RemadeView remake_view(const ViewPlace& place);

/// "heat.h5: 2 parts, 41 iterations", and what is missing.
std::string described(const std::string& path, const ViewFacts& facts);

}  // namespace leat::hdf5

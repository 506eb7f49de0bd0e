// SPDX-License-Identifier: Apache-2.0
// A run on several nodes has a server on each, and each writes a part: <stem>.parts/<session>/
// rank000004.h5, called after the lowest rank of its node. <stem>.h5 is the view of them.
#pragma once

#include <cstdio>
#include <filesystem>
#include <string>

#include "server/include/plugin.h"

namespace leat::hdf5 {

/// An older server does not say which of the nodes it is on: then its file has no view.
inline bool is_one_of_several_nodes(const leat_run& run) {
  return run.ranks > run.node_ranks && leat_run_first_rank(&run) >= 0;
}

inline constexpr const char* kPartBegin = "rank";

/// "rank000004"
inline std::string name_of_part(int first_rank) {
  char name[32];
  std::snprintf(name, sizeof name, "%s%06d", kPartBegin, first_rank);
  return name;
}

inline bool is_part(const std::filesystem::path& file) {
  return file.extension() == ".h5" && file.filename().string().rfind(kPartBegin, 0) == 0;
}

/// Folder of the parts of the run of which `view` is the view.
inline std::string folder_of_parts(const std::string& view, const std::string& session) {
  const std::filesystem::path path = view;
  return path.parent_path() / (path.stem().string() + ".parts") / session;
}

/// Of the view, and what makes a file one: the folder of its parts, beside it.
inline constexpr const char* kViewMark = "leat_parts";
/// Of a part.
inline constexpr const char* kFirstRank = "leat_first_rank";
inline constexpr const char* kNodeRanks = "leat_node_ranks";
inline constexpr const char* kStarted = "leat_started_ns";
inline constexpr const char* kViewName = "leat_view";  ///< file name of the view

}  // namespace leat::hdf5

// SPDX-License-Identifier: Apache-2.0
// The files of a run on several nodes.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "server/include/plugin.h"
#include "server/plugins/hdf5/base/parts.hpp"

namespace leat::hdf5 {

// A run on several nodes has a server on each, and each writes a part: <stem>.parts/<session>/
// rank000004.h5, called after the lowest rank of its node. <stem>.h5 is the view of them. Where a server goes on with ranks of
// another one, as after the loss of a staging node, there is a number behind that, of which later ones are greater:
// rank000004-71234567.h5.

/// Once it is open: before that a plugin is not told its first rank.
inline bool is_one_of_several_nodes(const leat_run& run) {
  return (run.ranks > run.node_ranks || leat_run_succession(&run) > 0) &&
         leat_run_first_rank(&run) >= 0;
}

/// split="...": the output of each server is in pieces, files one after the other, and there is a view, be it of one server.
inline constexpr const char* kSplit = "split";

inline bool is_in_pieces(const leat_run& run) {
  return std::any_of(run.options, run.options + run.option_count, [](const leat_option& each) {
    return std::string_view(each.name) == kSplit && *each.value;
  });
}

/// What it writes is shown by a view.
inline bool has_view(const leat_run& run) {
  return is_one_of_several_nodes(run) || is_in_pieces(run);
}

/// The only server has all ranks, and is not told.
inline int first_rank_of(const leat_run& run) { return std::max(0, leat_run_first_rank(&run)); }

/// "rank000004", "rank000004-71234567"
inline std::string name_of_part(const leat_run& run) {
  const int succession = leat_run_succession(&run);
  std::string name = name_of_part(first_rank_of(run));
  if (succession > 1) name += "-" + std::to_string(succession);
  return name;
}

/// Of the part of a server in that folder.
inline std::string path_of_part(const std::string& folder, const leat_run& run) {
  return std::filesystem::path(folder) / (name_of_part(run) + ".h5");
}

/// Folder of the parts of the run of which `view` is the view.
inline std::string folder_of_parts(const std::string& view, const std::string& session) {
  const std::filesystem::path path = view;
  return path.parent_path() / (path.stem().string() + ".parts") / session;
}

/// Of the view, and what makes a file one: the folder of its parts, beside it.
inline constexpr const char* kViewMark = "leat_parts";
/// Of a part, beside kFirstRank.
inline constexpr const char* kNodeRanks = "leat_node_ranks";
inline constexpr const char* kSuccession =
    "leat_succession";                                      ///< where ranks may have several parts
inline constexpr const char* kOwnRanks = "leat_own_ranks";  ///< "0,1,2", where they are known
inline constexpr const char* kStarted = "leat_started_ns";
inline constexpr const char* kViewName = "leat_view";  ///< file name of the view
/// Of a piece: what split="..." was, and which time it has (SplitPeriod::begin).
inline constexpr const char* kSplitText = "leat_split";
inline constexpr const char* kSplitBegin = "leat_split_begin";
inline constexpr const char* kFinished =
    "leat_finished";  ///< 1: others come behind it, and have the ledger

// How much a node has lost, where its own file cannot say so, since its disk was full at the end: in
// the name of an empty file, which needs no room: rank000004.lost-600 beside rank000004.h5.

inline std::string begin_of_losses(const std::filesystem::path& part) {
  return part.stem().string() + ".lost-";
}

/// How many writes; nothing where there is no such file.
inline std::optional<std::int64_t> losses_beside(const std::filesystem::path& part) {
  const std::string begin = begin_of_losses(part);
  std::optional<std::int64_t> most;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(part.parent_path(), error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.rfind(begin, 0) != 0) continue;
    std::int64_t lost = 0;
    const char* const last = name.data() + name.size();
    if (std::from_chars(name.data() + begin.size(), last, lost).ptr == last && lost >= 0)
      most = std::max(most.value_or(0), lost);
  }
  return most;
}

/// Of an earlier run, in whose part this one goes on.
inline void remove_losses_beside(const std::filesystem::path& part) {
  std::error_code gone;
  while (const std::optional<std::int64_t> lost = losses_beside(part)) {
    if (!std::filesystem::remove(
            part.parent_path() / (begin_of_losses(part) + std::to_string(*lost)), gone))
      return;
  }
}

/// False where not even that can be made.
inline bool note_losses_beside(const std::filesystem::path& part, std::int64_t lost) {
  const std::string name = begin_of_losses(part) + std::to_string(lost);
  return std::ofstream(part.parent_path() / name).is_open();
}

}  // namespace leat::hdf5

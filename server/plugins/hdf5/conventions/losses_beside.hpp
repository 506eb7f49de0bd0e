// SPDX-License-Identifier: Apache-2.0
// How much a node has lost, where its own file cannot say so, since its disk was full at the end: in
// the name of an empty file, which needs no room: rank000004.lost-600 beside rank000004.h5.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace leat::hdf5 {

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

/// False where not even that can be made.
inline bool note_losses_beside(const std::filesystem::path& part, std::int64_t lost) {
  const std::string name = begin_of_losses(part) + std::to_string(lost);
  return std::ofstream(part.parent_path() / name).is_open();
}

}  // namespace leat::hdf5

// SPDX-License-Identifier: Apache-2.0
// What parts of an output are called, as files and as groups of files that several servers share.
#pragma once

#include <cstdio>
#include <filesystem>
#include <string>

namespace leat::hdf5 {

inline constexpr const char* kPartBegin = "rank";
inline constexpr const char* kSharedBegin = "shared";
/// Attribute of a part.
inline constexpr const char* kFirstRank = "leat_first_rank";

/// "rank000004"
inline std::string name_of_part(int first_rank) {
  char name[32];
  std::snprintf(name, sizeof name, "%s%06d", kPartBegin, first_rank);
  return name;
}

/// "shared002": with files="4" servers write into files that they share, each its part as a group, /rank000004.
inline std::string name_of_shared(int file) {
  char name[32];
  std::snprintf(name, sizeof name, "%s%03d", kSharedBegin, file);
  return name;
}

/// "rank000004" of the file rank000004.h5, and of rank000004.2000-01.h5, one of its pieces; of another one that has its name
/// from when it was set aside, too.
inline std::string server_of_part(const std::filesystem::path& file) {
  const std::string name = file.filename();
  return name.substr(0, name.find('.'));
}

inline bool begins_with(const std::string& text, const char* begin) {
  return text.rfind(begin, 0) == 0;
}

inline bool is_shared(const std::filesystem::path& file) {
  return file.extension() == ".h5" && begins_with(file.filename().string(), kSharedBegin);
}

/// A part, or several in one file.
inline bool is_part(const std::filesystem::path& file) {
  return is_shared(file) ||
         (file.extension() == ".h5" && begins_with(file.filename().string(), kPartBegin));
}

}  // namespace leat::hdf5

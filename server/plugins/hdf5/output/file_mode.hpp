// SPDX-License-Identifier: Apache-2.0
// Of a store with layout="damaris": what its options are called, and how many files an iteration has.
#pragma once

#include <optional>
#include <string>

namespace leat::hdf5 {

inline constexpr const char* kLayout = "layout";
/// The value of that option, and of the attribute leat_layout of such files and of datasets in them.
inline constexpr const char* kDamarisLayout = "damaris";
inline constexpr const char* kFileMode = "file-mode";
inline constexpr const char* kDomains = "domains";
/// Attribute of such a file.
inline constexpr const char* kIteration = "iteration";

enum class FileMode {
  per_server,  ///< one of each server, a dataset for each block
  collective   ///< one, in which what has a global shape is one array
};

/// Of the words that Damaris has for it; nothing for others. A server of Leat is what a dedicated
/// core is there, so that two of the words mean the same.
inline std::optional<FileMode> file_mode_from(const std::string& word) {
  if (word == "FilePerCore" || word == "FilePerDedicatedCore") return FileMode::per_server;
  if (word == "Collective") return FileMode::collective;
  return std::nullopt;
}

}  // namespace leat::hdf5

// SPDX-License-Identifier: Apache-2.0
// The options of the store.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "server/include/plugin.hpp"

namespace leat::hdf5 {

// In how many files the servers of a run write.

inline constexpr const char* kFiles = "files";
inline constexpr const char* kFilePerNode = "node";
inline constexpr const char* kFilesAuto = "auto";
inline constexpr int kMostFiles = 999;  // as their names have room for

/// "true": the run goes on in the file of an earlier one.
inline constexpr const char* kAppend = "append";

// Of a store with layout="damaris": what its options are called, and how many files an iteration has.

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

// The option select-file of a store with layout="damaris": `CELL_INDEX: PRESSURE, RS; FACE_INDEX: FLUX`.
// Values of PRESSURE and RS go to those places of the global array that CELL_INDEX has for them.

inline constexpr const char* kSelectFile = "select-file";

/// For each variable the one with its places; nothing when the text is not of that form.
std::optional<std::map<std::string, std::string>> select_file_from(const std::string& text);

// The options of the store, each looked at by itself: `leat check` says what the start of a run
// would.

/// "" when the store has such an option, of this value; of compression="..." see filters.hpp.
std::string why_no_option(const std::string& name, const std::string& value);

/// "" when files can be made in `folder`, which is "" for the working folder.
std::string why_no_folder(const std::string& folder);

/// The option kAppend.
bool appends(const leat_run& run);

/// Where the options want the output. Throws when the folder is none.
std::string wanted_path(const leat_run& run);

/// Of options of one store, by name, each of which can be: the one that cannot be with the others, and
/// why; nothing when all can.
struct Misfit {
  std::string option, why;
};
std::optional<Misfit> misfit_among(const std::map<std::string, std::string>& options);

/// Throws for the first option of the store that cannot be; compressions too.
void check_options(const leat_run& run);

}  // namespace leat::hdf5

// SPDX-License-Identifier: Apache-2.0
// Which scripts there are on disk.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lib/model/model.hpp"

namespace leat::server {

struct ScriptFile {
  std::string name;         ///< "hottest" for analysis/hottest.py; unique
  std::string path;         ///< absolute
  std::size_t source = 0;   ///< of model::Scripts
  std::uint64_t stamp = 0;  ///< another one when the file has changed

  bool operator==(const ScriptFile&) const = default;
};

struct ScriptScan {
  std::vector<ScriptFile> files;      ///< by source, then by name
  std::vector<std::string> problems;  ///< files that are not used, and why
};

/// What a worker is told of a script for Damaris; null of others.
nlohmann::json damaris_words(const model::ScriptSource& source, const model::Model& model);

/// Looks at the folders now. Never throws: what cannot be read is a problem.
ScriptScan find_scripts(const std::vector<model::ScriptSource>& sources);

/// "" or why a run cannot start with it: no such folder, or one that everybody may write to.
std::string why_not_usable(const model::ScriptSource& source);

/// Why a run cannot start with these scripts, all of it: no interpreter, sources that are not
/// usable.
std::vector<model::Diagnostic> script_problems(const model::Scripts& scripts);

}  // namespace leat::server

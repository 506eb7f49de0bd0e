// SPDX-License-Identifier: Apache-2.0
// What `leat ls` says of an HDF5 file, as JSON; docs/reference/leat-ls.md describes it. Nothing is
// written, no lock is taken that a writer would wait for, and a commit of a killed writer is left
// as it is: what is seen is what any reader sees.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace leat::hdf5 {

using Json = nlohmann::ordered_json;

enum class Detail { brief, all };

/// Never throws for what is wrong with the file: "problem" says it then.
Json facts_of_file(const std::string& path, Detail detail);

}  // namespace leat::hdf5

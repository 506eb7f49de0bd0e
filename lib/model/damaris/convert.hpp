// SPDX-License-Identifier: Apache-2.0
// An XML for Damaris as the XML for Leat that a person would write.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/model/model.hpp"

namespace leat::model::damaris {

struct Converted {
  std::optional<std::string> text;      ///< empty when there is an error among the diagnostics
  std::vector<Diagnostic> diagnostics;  ///< as the reader says them
};

/// Reads `path` as the reader does; comments in the text say what had no equal.
Converted convert_file(const std::string& path);

}  // namespace leat::model::damaris

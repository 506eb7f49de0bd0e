// SPDX-License-Identifier: Apache-2.0
// From XML to Model, with all errors at once.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/model/model.hpp"

namespace leat::model {

// From XML to Model, with all errors at once.
struct ReadResult {
  std::optional<Model> model;           ///< empty when there is an error among the diagnostics
  std::vector<Diagnostic> diagnostics;  ///< all errors and warnings, in the order of the file
};

/// Reads `path`, expands ${ENV} and <include>, validates against the XSD (compiled into the
/// library) and checks what a schema cannot: names that must exist or be unique, expressions,
/// sizes. Never throws for bad input; not thread safe against itself during the first call
/// (Xerces-C initialisation).
ReadResult read_file(const std::string& path);

/// The same of texts that were kept: paths and texts of the file and of all that it includes.
ReadResult read_sources(const std::vector<std::pair<std::string, std::string>>& sources);

/// The file or folder that a store writes, by the defaults of the stores that come with Leat; "" where that is not known.
std::string output_of(const Store& store, const std::string& simulation);

class Schema;

/// The same of a text, as if it had been read from `path`; with a schema that is compiled already.
ReadResult read_text(const std::string& text, const std::string& path, const Schema& schema);

/// Without its severity, which the log says itself.
std::string for_log(const Diagnostic& diagnostic);
/// All diagnostics, one line each, errors first; ends with a line break unless empty.
std::string format(const std::vector<Diagnostic>& diagnostics);

}  // namespace leat::model

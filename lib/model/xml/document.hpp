// SPDX-License-Identifier: Apache-2.0
// The files of a configuration as one tree: read, expanded, checked against the schema, includes put in place.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/model/diagnostics.hpp"
#include "lib/model/xml/schema.hpp"
#include "lib/model/xml/tree.hpp"

namespace leat::model {

/// Paths and texts of files.
using Sources = std::vector<std::pair<std::string, std::string>>;

struct Document {
  XmlElement root;          ///< a <simulation> without <include>
  std::string source_text;  ///< of the top file
  Sources included;         ///< all that it includes
  bool is_damaris = false;  ///< it was one for Damaris
};

/// Includes that include each other twice would make a small file large without end.
inline constexpr std::size_t kMaxIncludes = 256;

/// Nothing only if the top file cannot be read, is no XML or has another root; what else is wrong
/// is said in `out`.
std::optional<Document> load_document(const std::string& path, const Schema& schema,
                                      DiagnosticList& out);

/// The same of a text, as if it had been read from `path`; what it includes is looked for in
/// `included` first.
std::optional<Document> document_of(const std::string& text, const std::string& path,
                                    const Schema& schema, DiagnosticList& out,
                                    const Sources& included = {});

}  // namespace leat::model

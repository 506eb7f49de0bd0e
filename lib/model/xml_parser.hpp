// SPDX-License-Identifier: Apache-2.0
// Text to tree, for text that may be anybody's: no DOCTYPE, so no entities and nothing fetched;
// bounded depth.
#pragma once

#include <optional>
#include <string>

#include "lib/model/diagnostics.hpp"
#include "lib/model/xml_tree.hpp"

namespace leat::model {

/// Deeper than any group of groups; the steps after this one recurse.
inline constexpr std::size_t kMaxXmlDepth = 64;

/// The root element of `text`, or nothing and an error. Names are not checked.
std::optional<XmlElement> parse_xml(const std::string& text, const std::string& file,
                                    DiagnosticList& out);

}  // namespace leat::model

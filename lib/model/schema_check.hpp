// SPDX-License-Identifier: Apache-2.0
// Holds a tree against the schema and says what does not fit, in plain words and with the nearest
// legal name.
#pragma once

#include "lib/model/diagnostics.hpp"
#include "lib/model/schema.hpp"
#include "lib/model/xml_tree.hpp"

namespace leat::model {

/// Afterwards the tree has only known elements where they may stand, and only known attributes;
/// attributes with a bad value are marked as refused.
void check_against_schema(const Schema& schema, XmlElement& root, DiagnosticList& out);

}  // namespace leat::model

// SPDX-License-Identifier: Apache-2.0
// Holds a tree for Damaris against the table of mapping.def.
#pragma once

#include "lib/model/damaris/remarks.hpp"

namespace leat::model::damaris {

/// Says what Damaris does not know (elements, values and missing attributes as errors; attributes,
/// which Damaris passes over in silence, as warnings) and what has no equal. Afterwards the tree
/// has only known elements and attributes; attributes with a bad value are marked as refused.
void check_against_table(XmlElement& root, Remarks& remarks, DiagnosticList& out);

}  // namespace leat::model::damaris

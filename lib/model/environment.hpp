// SPDX-License-Identifier: Apache-2.0
// ${NAME} and ${NAME:-default} in the values of attributes.
#pragma once

#include "lib/model/diagnostics.hpp"
#include "lib/model/xml_tree.hpp"

namespace leat::model {

/// Expands in the whole tree. Works on values that are parsed already, so that a value can bring in
/// no markup, and expands once, so that it can bring in no other variable. A value that cannot be
/// expanded is marked as refused.
void expand_environment(XmlElement& root, DiagnosticList& out);

}  // namespace leat::model

// SPDX-License-Identifier: Apache-2.0
// From the tree of an XML for Damaris to that of one for Leat, which the usual reader reads.
#pragma once

#include <optional>

#include "lib/model/damaris/remarks.hpp"
#include "lib/model/schema.hpp"

namespace leat::model::damaris {

/// Whether the root is that of an XML for Damaris: by its namespace, else by elements and
/// attributes that only Damaris has.
bool is_damaris(const XmlElement& root);

struct Translation {
  XmlElement root;  ///< elements and attributes stand where the file has those they come from
  std::vector<Remark> remarks;
};

/// Nothing, and an error, when the namespace is that of another Damaris; what else is wrong or has
/// no equal is said in `out`.
std::optional<Translation> translate(XmlElement root, const Schema& schema, DiagnosticList& out);

}  // namespace leat::model::damaris

// SPDX-License-Identifier: Apache-2.0
// What is said of a file for Damaris that has no equal: each thing once, however often it stands.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "lib/model/damaris/mapping.hpp"
#include "lib/model/diagnostics.hpp"
#include "lib/model/xml_tree.hpp"

namespace leat::model::damaris {

struct Remark {
  Severity severity = Severity::note;
  SourceLocation element;  ///< the element that it is about
  SourceLocation where;    ///< the element, or its attribute
  std::string message;
  std::size_t more = 0;  ///< so many others are about the same

  std::string text() const;
};

class Remarks {
 public:
  /// Says `message` unless something of this key was said; without a key that is the message.
  void say(Severity severity, const XmlElement& element, const SourceLocation& where,
           const std::string& message, const std::string& key = "");
  /// By the fate of a row of the table: nothing of what is taken.
  void say(Fate fate, const XmlElement& element, const SourceLocation& where,
           const std::string& message, const std::string& key = "");

  /// Whether something of this key was said; then this counts as said once more.
  bool again(const std::string& key);

  const std::vector<Remark>& all() const { return all_; }
  void say_to(DiagnosticList& out) const;

 private:
  std::vector<Remark> all_;
  std::unordered_map<std::string, std::size_t> by_key_;
};

}  // namespace leat::model::damaris

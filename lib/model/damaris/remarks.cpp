// SPDX-License-Identifier: Apache-2.0
#include "lib/model/damaris/remarks.hpp"

namespace leat::model::damaris {

std::string Remark::text() const {
  if (more == 0) return message;
  return message + " (and in " + std::to_string(more) +
         (more == 1 ? " more place)" : " more places)");
}

void Remarks::say(Severity severity, const XmlElement& element, const SourceLocation& where,
                  const std::string& message, const std::string& key) {
  const std::string& own = key.empty() ? message : key;
  if (again(own)) return;
  by_key_.emplace(own, all_.size());
  all_.push_back({severity, element.where, where, message});
}

bool Remarks::again(const std::string& key) {
  const auto first = by_key_.find(key);
  if (first == by_key_.end()) return false;
  ++all_[first->second].more;
  return true;
}

void Remarks::say(Fate fate, const XmlElement& element, const SourceLocation& where,
                  const std::string& message, const std::string& key) {
  switch (fate) {
    case Fate::taken:
    case Fate::part:
      return;
    case Fate::noted:
      return say(Severity::note, element, where, message, key);
    case Fate::lost:
      return say(Severity::warning, element, where, message, key);
  }
}

void Remarks::say_to(DiagnosticList& out) const {
  for (const Remark& each : all_) {
    if (each.severity == Severity::warning) {
      out.warning(each.where, each.text());
    } else {
      out.note(each.where, each.text());
    }
  }
}

}  // namespace leat::model::damaris

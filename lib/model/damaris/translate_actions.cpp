// SPDX-License-Identifier: Apache-2.0
// <actions>.
#include "lib/model/damaris/parts.hpp"
#include "lib/model/damaris/tree.hpp"

namespace leat::model::damaris {
namespace {

std::string scope_of(const std::string& scope) {
  if (scope == "group") return "node";
  return scope == "global" ? "run" : "rank";
}

void take_function(Work& work, XmlElement& to, const XmlElement& from) {
  if (given(from, "library")) {
    take(to, "library", from, "library");
    return take(to, "function", from, "action");
  }
  work.remarks.say(Severity::warning, from, from.where,
                   "event \"" + value_of(from, "name") + "\" has no library: Damaris looks for \"" +
                       value_of(from, "action") +
                       "\" in the program, and the server here is another one, which calls "
                       "nothing; put the function into a library");
}

XmlElement translate_event(Work& work, const XmlElement& from) {
  XmlElement to = element_at(from, "event");
  take(to, "name", from, "name");
  take_function(work, to, from);
  const XmlAttribute* const scope = given(from, "scope");
  if (!scope) return to;
  to.attributes.push_back({"scope", scope_of(scope->value), scope->where, scope->refused});
  if (scope->value == "bcast")
    work.remarks.say(Severity::warning, from, scope->where,
                     "scope=\"bcast\" of <event>: it happens on the node of the rank that signals "
                     "it, and not on the others");
  return to;
}

}  // namespace

XmlElement translate_actions(Work& work, const XmlElement& from) {
  XmlElement to = element_at(from, "actions");
  for (const XmlElement& child : from.children) {
    if (child.name == "event") to.children.push_back(translate_event(work, child));
  }
  return to;
}

}  // namespace leat::model::damaris

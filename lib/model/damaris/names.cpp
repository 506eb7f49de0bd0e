// SPDX-License-Identifier: Apache-2.0
#include "lib/model/damaris/names.hpp"

#include "lib/model/damaris/tree.hpp"

namespace leat::model::damaris {

std::string as_name(std::string name) {
  for (char& c : name) {
    const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '-' || c == '.';
    if (!good) c = c == '/' ? '.' : '_';
  }
  if (!name.empty() && (name[0] == '-' || name[0] == '.')) name[0] = '_';
  return name;
}

Names::Names(const XmlElement& data, std::string_view tag) { collect(data, tag, ""); }

void Names::collect(const XmlElement& parent, std::string_view tag, const std::string& prefix) {
  for (const XmlElement& child : parent.children) {
    const std::string name = value_of(child, "name");
    const std::string full = prefix + name;
    if (child.name == "group") {
      collect(child, tag, full + "/");
    } else if (child.name == tag) {
      // Two of one full name stay so, and the reader says it.
      const bool other = !prefix.empty() && by_leat_name_.contains(as_name(name));
      const std::string leat = as_name(other ? full : name);
      by_full_name_.try_emplace(full, all_.size());
      by_own_name_.try_emplace(name, all_.size());
      by_leat_name_.try_emplace(leat, all_.size());
      by_element_.try_emplace(&child, all_.size());
      all_.push_back({full, leat, &child});
    }
  }
}

const Names::Entry* Names::in(const Index& index, const std::string& name) const {
  const auto found = index.find(name);
  return found == index.end() ? nullptr : &all_[found->second];
}

const Names::Entry* Names::find(const std::string& reference) const {
  const Entry* full = in(by_full_name_, reference);
  return full ? full : in(by_own_name_, reference);
}

}  // namespace leat::model::damaris

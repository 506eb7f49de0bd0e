// SPDX-License-Identifier: Apache-2.0
// Layouts and meshes of groups: Damaris calls them "group/name", Leat by a name of their own.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/model/xml_tree.hpp"

namespace leat::model::damaris {

class Names {
 public:
  struct Entry {
    std::string full;  ///< with the groups: "coordinates/rmeshX"
    std::string leat;
    const XmlElement* element = nullptr;
  };

  /// Of all elements `tag` below `data`, which must outlive this.
  Names(const XmlElement& data, std::string_view tag);

  /// By the full name, else by the one without groups; null when there is none.
  const Entry* find(const std::string& reference) const;
  const Entry* of(const XmlElement& element) const { return &all_[by_element_.at(&element)]; }
  const std::vector<Entry>& all() const { return all_; }

 private:
  using Index = std::unordered_map<std::string, std::size_t>;

  void collect(const XmlElement& parent, std::string_view tag, const std::string& prefix);
  const Entry* in(const Index& index, const std::string& name) const;

  std::vector<Entry> all_;
  Index by_full_name_, by_own_name_, by_leat_name_;
  std::unordered_map<const XmlElement*, std::size_t> by_element_;
};

/// `name` with what a name of Leat cannot have as "_".
std::string as_name(std::string name);

}  // namespace leat::model::damaris

// SPDX-License-Identifier: Apache-2.0
// select-file, select-mem and select-subset of variables: in which order their values are stored. In
// Damaris they count for one array of all ranks only, which FileMode Collective makes. There the first
// becomes an option of the store, and the others, which Leat does not do, are errors: nobody would see
// that values are not where they belong.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/model/damaris/parts.hpp"

namespace leat::model::damaris {

class CellOrders {
 public:
  /// `root` must outlive this.
  CellOrders(Work& work, const XmlElement& root);

  /// The option select-file of a store, "" for none.
  std::string option_of(const std::string& store) const;
  /// Stores that a variable must be in since it is the index of others there.
  std::vector<std::string> stores_of_index(const XmlElement& variable) const;

 private:
  void look_at(const Names::Entry& variable, const std::string& store);
  bool fits(const Names::Entry& variable, const XmlAttribute& select) const;
  const XmlElement* layout_of(const XmlElement& variable) const;
  bool refuses_others(const Names::Entry& variable, const std::string& store) const;
  const Names::Entry* index_for(const Names::Entry& variable, const XmlAttribute& select) const;

  Work& work_;
  const Names layouts_, variables_;
  // By store, by index, in the order of the file.
  std::map<std::string, std::map<std::string, std::vector<std::string>>> orders_;
  std::map<const XmlElement*, std::vector<std::string>> needed_;
};

}  // namespace leat::model::damaris

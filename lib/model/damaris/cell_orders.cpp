// SPDX-License-Identifier: Apache-2.0
#include "lib/model/damaris/cell_orders.hpp"

#include <algorithm>

#include "lib/base/text.hpp"
#include "lib/model/damaris/translate.hpp"
#include "lib/model/read_steps.hpp"

namespace leat::model::damaris {
namespace {

const XmlElement& data_of(const XmlElement& root) {
  static const XmlElement kNone;
  const XmlElement* data = child_of(root, "data");
  return data ? *data : kNone;
}

std::vector<std::string> collective_stores(const XmlElement& root) {
  std::vector<std::string> names;
  const XmlElement* storage = child_of(root, "storage");
  for (const XmlElement& store : storage ? storage->children : std::vector<XmlElement>{}) {
    if (is_collective_store(store)) names.push_back(value_of(store, "name"));
  }
  return names;
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string of_variable(const XmlAttribute& select, const Names::Entry& variable) {
  return select.name + "=\"" + select.value + "\" of the variable \"" + variable.full + "\": ";
}

constexpr const char* kInstead =
    "; write FileMode \"FilePerCore\", where the values of each rank stand by themselves, in the "
    "order in which it writes them, beside those of their index";

}  // namespace

CellOrders::CellOrders(Work& work, const XmlElement& root)
    : work_(work), layouts_(data_of(root), "layout"), variables_(data_of(root), "variable") {
  const std::vector<std::string> collective = collective_stores(root);
  for (const Names::Entry& variable : variables_.all()) {
    for (const std::string& store : stores_in(*variable.element)) {
      if (has(collective, store)) look_at(variable, store);
    }
  }
}

void CellOrders::look_at(const Names::Entry& variable, const std::string& store) {
  if (refuses_others(variable, store)) return;
  const XmlAttribute* select = given(*variable.element, "select-file");
  if (!select) return;
  const Names::Entry* index = index_for(variable, *select);
  if (!index || !fits(variable, *select)) return;
  orders_[store][index->full].push_back(variable.full);
  std::vector<std::string>& needed = needed_[index->element];
  if (has(needed, store) || has(stores_in(*index->element), store)) return;
  needed.push_back(store);
  work_.remarks.say(Severity::note, *index->element, index->element->where,
                    "variable \"" + index->full + "\" is stored in \"" + store +
                        "\" as well: it says in which order others are, and the store needs it");
}

bool CellOrders::refuses_others(const Names::Entry& variable, const std::string& store) const {
  bool refuses = false;
  for (const char* name : {"select-mem", "select-subset"}) {
    const XmlAttribute* select = given(*variable.element, name);
    if (!select) continue;
    refuses = true;
    work_.out.error(select->where,
                    of_variable(*select, variable) +
                        "Leat does not do it, and in the one array of all ranks that the store \"" +
                        store + "\" makes values would not be where Damaris puts them" + kInstead);
  }
  return refuses;
}

const Names::Entry* CellOrders::index_for(const Names::Entry& variable,
                                          const XmlAttribute& select) const {
  const Names::Entry* index = variables_.find(select.value);
  if (!index) {
    std::vector<std::string> names;
    for (const Names::Entry& each : variables_.all()) names.push_back(each.full);
    work_.out.error(select.where, of_variable(select, variable) + "there is no such variable" +
                                      did_you_mean(select.value, names));
    return nullptr;
  }
  const XmlElement* layout = layout_of(*index->element);
  const std::string type = layout ? value_of(*layout, "type") : value_of(*index->element, "layout");
  if (has({"short", "int", "integer", "long"}, type)) return index;
  work_.out.error(select.where, of_variable(select, variable) + "its values are \"" + type +
                                    "\", and places in an array are \"int\" or \"long\"");
  return nullptr;
}

bool CellOrders::fits(const Names::Entry& variable, const XmlAttribute& select) const {
  const XmlElement* layout = layout_of(*variable.element);
  if (!layout || !given(*layout, "global")) {
    work_.remarks.say(Severity::warning, *variable.element, select.where,
                      of_variable(select, variable) +
                          "its layout has no global=\"...\": values are stored by ranks, in the "
                          "order in which each writes them");
    return false;
  }
  const std::size_t dims = split_list(value_of(*layout, "dimensions")).size();
  if (dims == 1 && !given(*layout, "ghosts")) return true;
  work_.out.error(select.where,
                  of_variable(select, variable) + "its layout \"" + value_of(*layout, "name") +
                      "\" has " + (dims == 1 ? "ghosts" : counted(dims, "dimension")) +
                      ", and the index one place for each value of a list" + kInstead);
  return false;
}

const XmlElement* CellOrders::layout_of(const XmlElement& variable) const {
  const Names::Entry* layout = layouts_.find(value_of(variable, "layout"));
  return layout ? layout->element : nullptr;
}

std::string CellOrders::option_of(const std::string& store) const {
  const auto found = orders_.find(store);
  std::string text;
  if (found == orders_.end()) return text;
  for (const auto& [index, variables] : found->second)
    text += (text.empty() ? "" : "; ") + index + ": " + joined(variables, ", ");
  return text;
}

std::vector<std::string> CellOrders::stores_of_index(const XmlElement& variable) const {
  const auto found = needed_.find(&variable);
  return found == needed_.end() ? std::vector<std::string>{} : found->second;
}

}  // namespace leat::model::damaris

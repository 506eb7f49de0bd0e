// SPDX-License-Identifier: Apache-2.0
// <architecture>, <storage> and <log>.
#include <algorithm>
#include <cstdlib>

#include "lib/model/damaris/cell_orders.hpp"
#include "lib/model/damaris/parts.hpp"
#include "lib/model/damaris/tree.hpp"

namespace leat::model::damaris {
namespace {

// The largest unit that gives a whole number.
std::string with_unit(const std::string& bytes) {
  struct Unit {
    const char* name;
    unsigned long long factor;
  };
  constexpr Unit kUnits[] = {{"GiB", 1ull << 30}, {"GB", 1'000'000'000}, {"MiB", 1ull << 20},
                             {"MB", 1'000'000},   {"KiB", 1ull << 10},   {"KB", 1'000}};
  const unsigned long long number = std::strtoull(bytes.c_str(), nullptr, 10);
  for (const Unit& unit : kUnits) {
    if (number > 0 && number % unit.factor == 0)
      return std::to_string(number / unit.factor) + unit.name;
  }
  return bytes + "B";
}

XmlElement dedicated(Work& work, const XmlElement& from) {
  XmlElement to = element_at(from, "dedicated");
  take(to, "cores", from, "cores");
  const std::string cores = value_of(from, "cores");
  const bool none = cores.find_first_not_of('0') == std::string::npos;
  if (!none) put(to, "place", "ranks", from.find("cores")->where);
  if (!none || (from.find("cores") && cores.empty())) return to;
  to.attributes.clear();
  const SourceLocation& where = from.find("cores") ? from.find("cores")->where : from.where;
  put(to, "cores", "1", where);
  if (value_of(from, "nodes").find_first_not_of('0') == std::string::npos)
    work.remarks.say(Severity::warning, from, where,
                     "no dedicated cores: Damaris then works inside the calls of the simulation; "
                     "here a server on one core works beside it");
  return to;
}

bool is_null_store(const XmlElement& store) { return value_of(store, "type") == "null"; }

const XmlElement* option_of(const XmlElement& store, std::string_view key) {
  for (const XmlElement& option : store.children) {
    if (value_of(option, "key") == key) return &option;
  }
  return nullptr;
}

void add_option(XmlElement& to, const XmlElement& at, const char* name, const std::string& value) {
  XmlElement option = element_at(at, "option");
  put(option, "name", name, at.where);
  put(option, "value", value, at.where);
  to.children.push_back(std::move(option));
}

// Damaris writes a file for each iteration, and so does Leat for its readers.
void add_layout(XmlElement& to, const XmlElement& store, const XmlAttribute* domains,
                const CellOrders& orders) {
  add_option(to, store, "layout", "damaris");
  if (const XmlElement* mode = option_of(store, "FileMode"); mode && mode->text != "FilePerCore") {
    add_option(to, *mode, "file-mode",
               mode->text == "FilePerNode"      ? "FilePerDedicatedCore"
               : mode->text == "CollectiveTest" ? "Collective"
                                                : mode->text);
  }
  if (domains) add_option(to, store, "domains", domains->value);
  const std::string order = orders.option_of(value_of(store, "name"));
  if (!order.empty()) add_option(to, store, "select-file", order);
}

// FilesPath stands in front of the name as it is: what is behind its last "/" begins the name.
void add_place(XmlElement& to, const XmlElement& store, const std::string& name, bool is_only) {
  const XmlElement* path = option_of(store, "FilesPath");
  const std::string text = path ? path->text : "";
  const std::size_t slash = text.rfind('/');
  const std::string begin = slash == std::string::npos ? text : text.substr(slash + 1);
  const SourceLocation& where = path ? path->where : store.where;
  if (!is_only || !begin.empty()) put(to, "file", begin + as_name(name) + ".h5", where);
  if (slash != std::string::npos) put(to, "folder", text.substr(0, slash + 1), where);
}

}  // namespace

XmlElement translate_architecture(Work& work, const XmlElement& from) {
  XmlElement to = element_at(from, "architecture");
  for (const XmlElement& child : from.children) {
    if (child.name == "dedicated") to.children.push_back(dedicated(work, child));
    if (child.name != "buffer") continue;
    XmlElement buffer = element_at(child, "buffer");
    if (const XmlAttribute* size = child.find("size"))
      buffer.attributes.push_back({"size", size->refused ? size->value : with_unit(size->value),
                                   size->where, size->refused});
    to.children.push_back(std::move(buffer));
  }
  return to;
}

std::vector<std::string> null_stores(const XmlElement& root) {
  std::vector<std::string> names;
  for (const XmlElement& storage : root.children) {
    for (const XmlElement& store : storage.children) {
      if (storage.name == "storage" && is_null_store(store))
        names.push_back(value_of(store, "name"));
    }
  }
  return names;
}

bool is_collective_store(const XmlElement& store) {
  const XmlElement* mode = option_of(store, "FileMode");
  return mode && mode->text.starts_with("Collective") && !is_null_store(store);
}

XmlElement translate_storage(Work& work, const XmlElement& from, const std::string& simulation,
                             const XmlAttribute* domains, const CellOrders& orders) {
  XmlElement to = element_at(from, "storage");
  const auto stores = std::count_if(from.children.begin(), from.children.end(),
                                    [](const XmlElement& s) { return !is_null_store(s); });
  for (const XmlElement& child : from.children) {
    if (is_null_store(child)) {
      work.remarks.say(Severity::note, child, child.where,
                       "store \"" + value_of(child, "name") +
                           "\" is a null store: it is left out, and variables that name it are "
                           "stored nowhere");
      continue;
    }
    XmlElement store = element_at(child, "store");
    take(store, "name", child, "name");
    take(store, "type", child, "type");
    for (XmlAttribute& each : store.attributes) {
      if (each.name == "type") each.value = "hdf5";
    }
    take(store, "every", child, "frequency");
    const bool is_only = stores == 1;
    add_place(store, child, is_only ? simulation : simulation + "-" + value_of(child, "name"),
              is_only);
    add_layout(store, child, domains, orders);
    to.children.push_back(std::move(store));
  }
  return to;
}

XmlElement translate_log(const XmlElement& from) {
  XmlElement to = element_at(from, "log");
  const std::string level = from.find("LogLevel") ? value_of(from, "LogLevel") : "warning";
  const SourceLocation& where = from.find("LogLevel") ? from.find("LogLevel")->where : from.where;
  put(to, "level", level == "trace" ? "debug" : level == "fatal" ? "error" : level, where);
  to.attributes.back().refused = level.empty();
  if (const XmlAttribute* file = given(from, "FileName"))
    put(to, "file", file->value + ".log", file->where);
  return to;
}

}  // namespace leat::model::damaris

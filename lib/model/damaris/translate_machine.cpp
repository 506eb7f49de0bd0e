// SPDX-License-Identifier: Apache-2.0
// <architecture>, <storage> and <log>.
#include <algorithm>
#include <cstdlib>

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

void options(XmlElement& to, const XmlElement& store) {
  for (const XmlElement& option : store.children) {
    const std::string key = value_of(option, "key");
    if (key == "FilesPath" && !option.text.empty()) put(to, "folder", option.text, option.where);
    if (key != "XDMFMode" || option.text == "NoIteration") continue;
    XmlElement xdmf = element_at(option, "option");
    put(xdmf, "name", "xdmf", option.where);
    put(xdmf, "value", "true", option.where);
    to.children.push_back(std::move(xdmf));
  }
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

XmlElement translate_storage(Work& work, const XmlElement& from, const std::string& simulation) {
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
    if (stores > 1)
      put(store, "file", as_name(simulation + "-" + value_of(child, "name")) + ".h5", child.where);
    options(store, child);
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

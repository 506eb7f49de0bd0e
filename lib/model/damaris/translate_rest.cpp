// SPDX-License-Identifier: Apache-2.0
// What of Damaris' XML is not data: architecture, storage, scripts, actions.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "lib/base/text.hpp"
#include "lib/model/damaris/cell_orders.hpp"
#include "lib/model/damaris/parts.hpp"
#include "lib/model/damaris/translate.hpp"

namespace leat::model::damaris {

// <architecture>, <storage> and <log>.

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
  if (is_collective_store(store)) add_option(to, *option_of(store, "FileMode"), "files", "1");
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

// Only where there are no dedicated cores, as in Damaris.
const XmlAttribute* dedicated_nodes(const XmlElement& root) {
  const auto is_some = [](const XmlElement& element, const char* name) {
    return std::strtoll(value_of(element, name).c_str(), nullptr, 10) > 0;
  };
  for (const XmlElement& architecture : root.children) {
    for (const XmlElement& each : architecture.children) {
      if (architecture.name == "architecture" && each.name == "dedicated" &&
          is_some(each, "nodes") && !is_some(each, "cores"))
        return each.find("nodes");
    }
  }
  return nullptr;
}

void use_dedicated_nodes(XmlElement* to, const XmlAttribute& nodes) {
  for (XmlElement& room : to->children) {
    if (room.name == "architecture") {
      XmlElement staging = element_at(room, "staging");
      put(staging, "nodes", nodes.value, nodes.where);
      put(staging, "place", "ranks", nodes.where);
      room.children.push_back(std::move(staging));
    }
    if (room.name != "storage" && room.name != "scripts") continue;
    for (XmlElement& each : room.children)
      if (each.name == "store" || each.name == "script") put(each, "at", "staging", nodes.where);
  }
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

// <scripts>: those in Python run as they are, with the variables that name them.

namespace {

// Damaris waits for a script as long as it takes, and calls it however often it has failed.
constexpr const char* kLongestCall = "1h";
constexpr const char* kMostFailures = "1000000";

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

// As in store="a,b;c".
std::vector<std::string> names_in(const std::string& list) {
  constexpr const char* kBetween = ",; ";
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find_first_of(kBetween, begin), list.size());
    if (end > begin) names.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

std::string variables_of(const Names& variables, const std::string& script) {
  std::string list;
  for (const Names::Entry& each : variables.all()) {
    const std::vector<std::string> names = names_in(value_of(*each.element, "script"));
    if (std::find(names.begin(), names.end(), script) != names.end())
      list += (list.empty() ? "" : ", ") + each.full;
  }
  return list;
}

XmlElement dask(const XmlElement& from, const std::string& cores) {
  XmlElement to = element_at(from, "dask");
  take(to, "scheduler-file", from, "scheduler-file");
  const std::string threads = value_of(from, "nthreads"), timeout = value_of(from, "timeout");
  if (is_number(threads) && threads != "1") take(to, "threads", from, "nthreads");
  if (threads == "openmp") put(to, "threads", cores, from.find("nthreads")->where);
  if (is_number(timeout)) put(to, "timeout", timeout + "s", from.find("timeout")->where);
  return to;
}

void wait_for_it(XmlElement& to, const XmlElement& from) {
  put(to, "when-slow", "wait", from.where);
  put(to, "timeout", kLongestCall, from.where);
  put(to, "failures", kMostFailures, from.where);
}

XmlElement script(const XmlElement& from, const Names& variables, const std::string& cores) {
  XmlElement to = element_at(from, "script");
  take(to, "file", from, "file");
  put(to, "form", "damaris", from.where);
  take(to, "every", from, "frequency");
  put(to, "variables", variables_of(variables, value_of(from, "name")), from.where);
  wait_for_it(to, from);
  if (given(from, "scheduler-file")) to.children.push_back(dask(from, cores));
  return to;
}

std::vector<std::string> scripts_in(const XmlElement& root) {
  std::vector<std::string> names;
  for (const XmlElement& scripts : root.children) {
    for (const XmlElement& each : scripts.children) {
      if (scripts.name == "scripts") names.push_back(value_of(each, "name"));
    }
  }
  return names;
}

}  // namespace

void check_scripts_of(Work& work, const XmlElement& root, const Names& variables) {
  const std::vector<std::string> scripts = scripts_in(root);
  for (const Names::Entry& each : variables.all()) {
    for (const std::string& name : names_in(value_of(*each.element, "script"))) {
      if (std::find(scripts.begin(), scripts.end(), name) != scripts.end()) continue;
      work.remarks.say(Severity::warning, *each.element, each.element->find("script")->where,
                       "script=\"" + name + "\" of <variable>: there is no such <pyscript>" +
                           did_you_mean(name, scripts),
                       "script " + name);
    }
  }
}

XmlElement translate_scripts(Work& work, const XmlElement& from, const Names& variables,
                             const std::string& cores) {
  XmlElement to = element_at(from, "scripts");
  for (const XmlElement& each : from.children) {
    if (value_of(each, "language") == "python") {
      to.children.push_back(script(each, variables, cores));
    } else if (each.find("language") && !each.find("language")->refused) {
      work.remarks.say(Severity::warning, each, each.find("language")->where,
                       "language=\"" + value_of(each, "language") + "\" of <" + each.name +
                           ">: only scripts in Python are run, here as in Damaris");
    }
  }
  return to;
}

XmlElement translate_paraview(Work& work, const XmlElement& from) {
  XmlElement to = element_at(from, "scripts");
  for (const XmlElement& each : from.children) {
    if (each.text.empty()) {
      work.remarks.say(Severity::warning, each, each.where, "<script> of <paraview> names no file");
      continue;
    }
    // Damaris without Catalyst runs with such an XML, and so does one whose script is elsewhere.
    if (std::error_code ignored; !std::filesystem::exists(each.text, ignored)) {
      work.remarks.say(
          Severity::warning, each, each.where,
          "there is no file \"" + each.text +
              "\", and nothing is drawn by it: its path starts from the working folder "
              "of the run. As it is in <scripts>: <script file=\"" +
              each.text + "\" form=\"catalyst\"/>");
      continue;
    }
    XmlElement script = element_at(each, "script");
    put(script, "file", each.text, each.where);
    put(script, "form", "catalyst", each.where);
    take(script, "every", from, "update-frequency");
    wait_for_it(script, each);
    to.children.push_back(std::move(script));
  }
  return to;
}

// <actions>.

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

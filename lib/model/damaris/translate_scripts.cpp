// SPDX-License-Identifier: Apache-2.0
// <scripts>: those in Python run as they are, with the variables that name them.
#include <algorithm>

#include "lib/base/suggest.hpp"
#include "lib/model/damaris/parts.hpp"
#include "lib/model/damaris/tree.hpp"

namespace leat::model::damaris {
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

XmlElement script(const XmlElement& from, const Names& variables, const std::string& cores) {
  XmlElement to = element_at(from, "script");
  take(to, "file", from, "file");
  put(to, "form", "damaris", from.where);
  take(to, "every", from, "frequency");
  put(to, "variables", variables_of(variables, value_of(from, "name")), from.where);
  put(to, "when-slow", "wait", from.where);
  put(to, "timeout", kLongestCall, from.where);
  put(to, "failures", kMostFailures, from.where);
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

}  // namespace leat::model::damaris

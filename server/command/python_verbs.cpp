// SPDX-License-Identifier: Apache-2.0
#include "server/command/python_verbs.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "lib/os/process.hpp"
#include "server/command/exec_program.hpp"
#include "server/command/exit_codes.hpp"
#include "server/workers/python/script_files.hpp"

namespace leat::command {
namespace {

struct PythonVerb {
  const char *name, *about;
};

constexpr PythonVerb kPythonVerbs[] = {
    {"plan", "Says how long a run would take, with dedicated cores, without, and in one go."},
    {"predict", "Says what bursts of analytics cost a simulation whose ranks meet in collectives."},
};

// Of the option that all of these verbs have.
std::string interpreter_of(const std::vector<std::string>& words) {
  const std::string option = "--interpreter";
  std::string name = "python3";
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == option && i + 1 < words.size()) name = words[i + 1];
    if (words[i].starts_with(option + "=")) name = words[i].substr(option.size() + 1);
  }
  return name;
}

}  // namespace

void add_python_verbs(CLI::App& app) {
  for (const PythonVerb& each : kPythonVerbs) app.add_subcommand(each.name, each.about);
}

std::optional<int> run_python_verb(const std::vector<std::string>& words) {
  const auto is_first = [&](const PythonVerb& each) { return words.front() == each.name; };
  if (words.empty() || std::none_of(std::begin(kPythonVerbs), std::end(kPythonVerbs), is_first))
    return std::nullopt;
  const std::string& verb = words.front();
  const Result<std::string> python = server::find_python(interpreter_of(words), "");
  if (!python) {
    std::fprintf(stderr, "leat %s: %s\n", verb.c_str(), python.error().message.c_str());
    return kBad;
  }
  setenv("LEAT_PROGRAM", platform::path_beside_program("leat").c_str(), 1);
  std::vector<std::string> arguments{server::python_launcher()};
  arguments.insert(arguments.end(), words.begin(), words.end());
  return exec_program(verb, *python, arguments);
}

}  // namespace leat::command

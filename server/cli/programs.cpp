// SPDX-License-Identifier: Apache-2.0
#include "server/cli/programs.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "lib/os/process.hpp"
#include "server/cli/verbs.hpp"
#include "server/workers/python/script_files.hpp"

namespace leat::cli {

int exec_named(const std::string& verb, const std::string& program,
               const std::vector<std::string>& words) {
  std::vector<char*> given;
  for (const std::string& word : words) given.push_back(const_cast<char*>(word.c_str()));
  given.push_back(nullptr);
  execv(program.c_str(), given.data());
  return refuse(verb, "cannot start " + program + ": " + os::errno_text(errno));
}

namespace {

int exec_program(const std::string& verb, const std::string& program,
                 const std::vector<std::string>& arguments) {
  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return exec_named(verb, program, words);
}

}  // namespace

int exec_store_program(const std::string& verb, const std::vector<std::string>& arguments) {
  return exec_program(verb, os::path_beside_program(LEAT_PLUGIN_FOLDER "/" + verb + "-hdf5"),
                      arguments);
}

std::string staging_program() {
  return os::path_beside_program(LEAT_PLUGIN_FOLDER "/staging-node");
}

int exec_python_tool(const std::string& verb, const std::string& tool,
                     const std::string& interpreter, const std::string& packages,
                     const std::vector<std::string>& words) {
  const Result<std::string> python = server::find_python(interpreter, packages);
  if (!python) return refuse(verb, python.error().message);
  std::vector<std::string> arguments{server::python_launcher(), tool};
  arguments.insert(arguments.end(), words.begin(), words.end());
  return exec_program(verb, *python, arguments);
}

namespace {

struct PythonVerb {
  const char *name, *about;
  const char* packages;  // that it needs; "": none
};

constexpr PythonVerb kPythonVerbs[] = {
    {"dash", "Shows running sessions of yours on this node as a page, live.", ""},
    {"graph", "Checks a graph of modules, draws it, and runs a simulation with it.", ""},
    {"model",
     "Prints XML for Leat that declares what an HDF5 or netCDF-4 file has, ready to be edited.",
     "h5py"},
    {"openpmd",
     "Makes a small file with which tools for openPMD read the file of a run, without a copy.",
     "h5py"},
    {"plan", "Says how long a run would take, with dedicated cores, without, and in one go.", ""},
    {"predict", "Says what bursts of analytics cost a simulation whose ranks meet in collectives.",
     ""},
    {"replay", "Runs analysis scripts on a stored run, as they would have run beside it.",
     "NumPy and h5py"},
    {"report",
     "Shows what became of a run: variables, time, scripts, files; or makes a page of it.", ""},
    {"trace",
     "Shows what ranks, stores and scripts of a run did when; makes one trace of it, or a picture.",
     ""},
    {"xdmf",
     "Makes the XDMF sidecar of a file, run.xmf beside run.h5, for tools that do not read /VTKHDF.",
     "h5py"},
    {"zarr",
     "Makes references with which the file of a run is read as a Zarr store, without a copy.",
     "h5py"},
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
  const auto verb = std::find_if(
      std::begin(kPythonVerbs), std::end(kPythonVerbs),
      [&](const PythonVerb& each) { return !words.empty() && words.front() == each.name; });
  if (verb == std::end(kPythonVerbs)) return std::nullopt;
  const bool asks_for_help = std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return word == "--help" || word == "-h";
  });
  setenv("LEAT_PROGRAM", os::path_beside_program("leat").c_str(), 1);
  return exec_python_tool(words.front(), words.front(), interpreter_of(words),
                          asks_for_help ? "" : verb->packages, {words.begin() + 1, words.end()});
}

}  // namespace leat::cli

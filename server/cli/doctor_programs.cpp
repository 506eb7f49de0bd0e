// SPDX-License-Identifier: Apache-2.0
// What `leat doctor` says of programs and libraries: leatd, HDF5, Python, MPI.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "lib/base/text.hpp"
#include "lib/os/child_process.hpp"
#include "lib/os/process.hpp"
#include "lib/os/shared_library.hpp"
#include "server/cli/doctor.hpp"
#include "server/workers/python/script_files.hpp"

namespace leat::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kProgramNs = 30'000'000'000;

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// Of a program's --version; "" when it says none.
std::string version_of(const std::string& program) {
  const Result<std::string> said = os::run_program({program, "--version"}, "", kProgramNs);
  return said ? first_line(*said) : "";
}

// Its errors go where nobody sees them: what is not there is no error here.
constexpr const char* kAskPython = R"(
import importlib.metadata, importlib.util, json, os, platform
os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
def found(name):
    if importlib.util.find_spec(name) is None:
        return ""
    try:
        if name == "numpy":
            import numpy
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "there"
    except Exception as error:
        return "broken: " + str(error).strip().split("\n")[0]
names = ("numpy", "xarray", "h5py", "matplotlib")
print(json.dumps({"python": platform.python_version(), **{name: found(name) for name in names}}))
)";

bool is_usable(const std::string& version) {
  return !version.empty() && !version.starts_with("broken");
}

Finding finding_of_python(const Need& need, const std::string& python, const Json& told) {
  const auto of = [&](const char* name) { return text_in(told, name); };
  std::string text = python + " " + of("python");
  std::string missing;
  for (const char* name : {"numpy", "xarray", "h5py", "matplotlib"}) {
    if (is_usable(of(name)))
      text += std::string(", ") + name + " " + of(name);
    else
      missing += (missing.empty() ? "" : ", ") + std::string(name) +
                 (of(name).empty() ? "" : " is " + of(name));
  }
  if (missing.empty()) return {Health::ok, "Python", text};
  const Health health = is_usable(of("numpy")) ? Health::warn
                        : need.scripts         ? Health::bad
                                               : Health::warn;
  return {
      health, "Python", text + "; without " + missing,
      std::string(is_usable(of("numpy")) ? "needed where a script uses it" : "scripts need NumPy") +
          ": apt-get install python3-numpy python3-xarray python3-h5py, pip install, or "
          "<scripts interpreter=\"/path/to/python3\">"};
}

constexpr struct {
  int number;
  const char* name;
} kFiltersOfHdf5[] = {{1, "gzip"},     {4, "szip"},    {32001, "blosc"}, {32013, "zfp"},
                      {32015, "zstd"}, {32004, "lz4"}, {307, "bzip2"}};

}  // namespace

void look_at_server(std::vector<Finding>* findings) {
  const char* const chosen = std::getenv("LEAT_SERVER");
  const std::string server = chosen ? chosen : os::path_beside_program("leatd");
  const std::string version = access(server.c_str(), X_OK) == 0 ? version_of(server) : "";
  if (version.find(LEAT_VERSION) != std::string::npos)
    return findings->push_back({Health::ok, "server", server});
  findings->push_back(
      {Health::bad, "server",
       server + (access(server.c_str(), X_OK) != 0 ? ": " + os::errno_text(errno)
                 : version.empty()                 ? " does not start"
                                   : " is " + version + ", and leat is " + LEAT_VERSION),
       chosen ? "set LEAT_SERVER to the leatd beside this leat, or not at all"
              : "install Leat whole: make install PREFIX=..."});
}

void look_at_hdf5(const Need& need, std::vector<Finding>* findings) {
  const std::string plugin = os::path_beside_program(LEAT_PLUGIN_FOLDER "/hdf5.so");
  const Health missing = need.hdf5 ? Health::bad : Health::warn;
  if (access(plugin.c_str(), R_OK) != 0)
    return findings->push_back({missing, "HDF5", "this Leat has no hdf5 store",
                                "build with LEAT_HDF5=ON, which needs libhdf5-dev"});
  const Result<const void*> version = os::load_symbol(plugin, "H5get_libversion"),
                            has = os::load_symbol(plugin, "H5Zfilter_avail");
  if (!version || !has)
    return findings->push_back({missing, "HDF5", (!version ? version : has).error().message,
                                "install the library of HDF5 that Leat was built with"});
  unsigned numbers[3] = {};
  reinterpret_cast<int (*)(unsigned*, unsigned*, unsigned*)>(const_cast<void*>(*version))(
      &numbers[0], &numbers[1], &numbers[2]);
  const auto is_there = reinterpret_cast<int (*)(int)>(const_cast<void*>(*has));
  std::string filters, absent;
  for (const auto& each : kFiltersOfHdf5) {
    std::string& list = is_there(each.number) > 0 ? filters : absent;
    list += (list.empty() ? "" : ", ") + std::string(each.name);
  }
  std::string text = std::to_string(numbers[0]) + "." + std::to_string(numbers[1]) + "." +
                     std::to_string(numbers[2]) + " compresses by " +
                     (filters.empty() ? "nothing" : filters);
  if (!absent.empty()) text += "; not by " + absent;
  findings->push_back({Health::ok, "HDF5", text});
}

void look_at_python(const Need& need, std::vector<Finding>* findings) {
  const Health missing = need.scripts ? Health::bad : Health::warn;
  const Result<std::string> python = server::find_python(need.interpreter, "NumPy");
  if (!python)
    return findings->push_back(
        {missing, "Python", python.error().message,
         "scripts and some commands need it: apt-get install python3-numpy"});
  const Result<std::string> said = os::run_program({*python, "-c", kAskPython}, "", kProgramNs);
  const Json told = Json::parse(said ? *said : "", nullptr, false);
  if (told.is_object()) return findings->push_back(finding_of_python(need, *python, told));
  findings->push_back(
      {missing, "Python",
       *python + (said ? " does not say what it is" : " does not run: " + said.error().message),
       "another one: <scripts interpreter=\"/path/to/python3\">"});
}

void look_at_mpi(std::vector<Finding>* findings) {
  for (const char* name : {"mpirun", "mpiexec", "srun"}) {
    const std::string program = os::find_program(name);
    if (program.empty()) continue;
    const std::string version = version_of(program);
    return findings->push_back(
        {Health::ok, "MPI", program + (version.empty() ? "" : ", " + version)});
  }
  findings->push_back(
      {Health::warn, "MPI", "there is no mpirun, mpiexec or srun in PATH",
       "simulations of one process work; for others: module load, or apt-get install "
       "openmpi-bin"});
}

}  // namespace leat::cli

// SPDX-License-Identifier: Apache-2.0
#include "server/command/launchers_here.hpp"

#include "lib/os/child_process.hpp"
#include "lib/os/process.hpp"

namespace leat::command {
namespace {

constexpr std::int64_t kVersionTimeout = 20'000'000'000;

struct Known {
  const char* program;
  Launcher launcher;
  const char* says;  // with --version; "": nobody else has this name
};

// Several MPIs call theirs mpirun. Those with a point are Debian's, for where there is more than one.
constexpr Known kKnown[] = {
    {"mpirun", Launcher::openmpi, "(Open MPI)"},
    {"mpirun", Launcher::mpich, "HYDRA"},
    {"mpiexec.hydra", Launcher::mpich, "HYDRA"},
    {"mpirun.openmpi", Launcher::openmpi, "(Open MPI)"},
    {"srun", Launcher::slurm, ""},
};

bool is_it(const std::string& path, const std::string& says) {
  if (says.empty()) return true;
  const Result<std::string> said = platform::run_program({path, "--version"}, "", kVersionTimeout);
  return said && said->find(says) != std::string::npos;
}

const char* full_name(Launcher launcher) {
  switch (launcher) {
    case Launcher::openmpi:
      return "mpirun of Open MPI";
    case Launcher::mpich:
      return "mpiexec.hydra of MPICH";
    case Launcher::slurm:
      return "srun of Slurm";
  }
  return "?";
}

Error none(std::optional<Launcher> wanted) {
  if (wanted) {
    return {Status::ERROR_CONFIG,
            std::string("there is no ") + full_name(*wanted) +
                " in PATH to run it with: load its module or install it; without --run the line is "
                "printed, for another machine"};
  }
  return {Status::ERROR_CONFIG,
          "there is no launcher in PATH, mpirun of Open MPI, mpiexec.hydra of MPICH or srun of "
          "Slurm; say --launcher openmpi, mpich or slurm for the line on another machine"};
}

}  // namespace

std::optional<Launcher> launcher_named(const std::string& name) {
  if (name == "openmpi") return Launcher::openmpi;
  if (name == "mpich") return Launcher::mpich;
  if (name == "slurm") return Launcher::slurm;
  return std::nullopt;
}

Result<InstalledLauncher> find_launcher(std::optional<Launcher> wanted) {
  for (const Known& known : kKnown) {
    if (wanted && *wanted != known.launcher) continue;
    const std::string path = platform::find_program(known.program);
    if (!path.empty() && is_it(path, known.says))
      return InstalledLauncher{known.launcher, known.program, path};
  }
  return none(wanted);
}

}  // namespace leat::command

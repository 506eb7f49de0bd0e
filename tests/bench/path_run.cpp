// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/path_run.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "lib/os/cores.hpp"
#include "tests/bench/forked_clients.hpp"

namespace leat::bench {
namespace {

namespace fs = std::filesystem;

// Eight iterations of all clients, but not more than a small machine has.
std::size_t buffer_mib(const Load& load) {
  const std::size_t blocks = std::size_t{16} * static_cast<std::size_t>(load.clients) *
                             static_cast<std::size_t>(load.writes_per_iteration);
  return std::clamp<std::size_t>((blocks * load.bytes) >> 20, 256, 1024);
}

void write_config(const Load& load, const char* checksum, bool reads) {
  std::ofstream(load.config)
      << "<simulation name=\"bench\"><architecture><dedicated cores=\"1\"/><buffer size=\""
      << buffer_mib(load) << "MiB\" timeout=\"30s\" checksum=\"" << checksum
      << "\"/></architecture><data><layout name=\"bytes\" type=\"uint8\" dimensions=\""
      << load.bytes
      << "\"/><variable name=\"written\" layout=\"bytes\"/>"
         "<variable name=\"committed\" layout=\"bytes\"/></data><storage><store name=\"discard\" "
         "library=\""
      << LEAT_DISCARD_PLUGIN << "\"><option name=\"read\" value=\"" << (reads ? "yes" : "no")
      << "\"/></store></storage><log level=\"error\"/></simulation>\n";
}

// Room for one number that all clients add to.
long* shared_number() {
  return static_cast<long*>(
      mmap(nullptr, sizeof(long), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
}

}  // namespace

std::optional<PathTimes> measure_path(Load load, const char* checksum, bool reads) {
  static int runs = 0;
  load.session = "bench-" + std::to_string(getpid()) + "-" + std::to_string(++runs);
  const fs::path folder = fs::temp_directory_path() / load.session;
  const fs::path before = fs::current_path();
  fs::create_directory(folder);
  fs::current_path(folder);  // the ledger of the run is written here
  load.config = folder / "bench.xml";
  load.core = load.clients < os::allowed_cpus().count() ? 0 : -1;
  write_config(load, checksum, reads);
  Samples samples(load.clients, load.iterations * load.writes_per_iteration);
  long* const slept = shared_number();
  const bool well = fork_clients(
      load.clients, [&](int client) { return run_client(load, client, samples, slept); });
  fs::current_path(before);
  fs::remove_all(folder);
  if (!well) return std::nullopt;
  PathTimes times;
  for (std::size_t kind = 0; kind < kKinds; ++kind)
    times.of[kind] = samples.percentiles(static_cast<Kind>(kind));
  times.sleeps_per_iteration =
      static_cast<double>(*slept) / (static_cast<double>(load.iterations) * load.clients);
  munmap(slept, sizeof *slept);
  return times;
}

}  // namespace leat::bench

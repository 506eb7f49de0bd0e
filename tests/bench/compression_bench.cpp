// SPDX-License-Identifier: Apache-2.0
// What compression in the hdf5 store costs a simulation: the time in leat_write and
// leat_end_iteration with it over that without. Runs of both take turns, each in a process of its
// own, and the buffer holds all iterations of a run. Beside the time on the wall stands that of the
// processor, which does not count what other programs take on a machine that is not idle.
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "client-api/api/leat.h"
#include "lib/os/clock.hpp"
#include "lib/os/cores.hpp"

namespace leat::bench {
namespace {

constexpr int kSide = 1024;  // of an array of double: 8 MiB
constexpr int kIterations = 25, kWarmUp = 5, kPairs = 9;
constexpr double kAim = 1.02;

struct Times {         // in memory that parent and child share
  double wall_ns = 0;  // median of leat_write and leat_end_iteration together
  double processor_ns = 0;
  double file_bytes = 0;
};

struct Compared {
  std::string compression;
  std::vector<double> wall, processor;  // ratios, one per pair of runs
  double smaller = 0;                   // file without over file with
};

double median(std::vector<double> of) {
  std::sort(of.begin(), of.end());
  return of[of.size() / 2];
}

double processor_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

std::string write_config(const std::string& folder, const std::string& compression) {
  const std::string path = folder + "/bench.xml", side = std::to_string(kSide);
  std::ofstream(path) << "<simulation name=\"bench\"><architecture><dedicated cores=\"1\"/><buffer "
                         "size=\"512MiB\" timeout=\"60s\"/></architecture><data><layout "
                         "name=\"grid\" type=\"double\" dimensions=\""
                      << side << "," << side
                      << "\"/><variable name=\"field\" layout=\"grid\"/></data><storage><store "
                         "name=\"out\" type=\"hdf5\" folder=\""
                      << folder << "\" compression=\"" << compression
                      << "\" durability=\"none\"/></storage><log level=\"error\"/></simulation>\n";
  return path;
}

// Smooth, and different at each iteration: the simulation's own work.
void compute(int iteration, std::vector<double>* field) {
  for (int y = 0; y < kSide; ++y) {
    const double row = std::sin(0.01 * y + 0.1 * iteration);
    for (int x = 0; x < kSide; ++x)
      (*field)[static_cast<std::size_t>(y) * kSide + static_cast<std::size_t>(x)] =
          row * (x - 512) + iteration;
  }
}

int simulate(const std::string& config, const std::string& session, Times* times) {
  if (os::allowed_cpus().count() > 1) {
    os::CpuSet own;
    own.add(0);
    os::set_affinity(own);
  }
  const leat_ranks ranks{sizeof ranks, 0, 1, 0, 1, session.c_str()};
  if (leat_init_ranks(config.c_str(), &ranks) != LEAT_OK) {
    std::fprintf(stderr, "%s\n", leat_last_error());
    return 1;
  }
  std::vector<double> field(static_cast<std::size_t>(kSide) * kSide), wall, processor;
  for (int i = 0; i < kWarmUp + kIterations; ++i) {
    compute(i, &field);
    const std::int64_t start = os::now_ns();
    const double processor_start = processor_ns();
    if (leat_write("field", field.data()) != LEAT_OK || leat_end_iteration() != LEAT_OK) return 1;
    if (i < kWarmUp) continue;
    processor.push_back(processor_ns() - processor_start);
    wall.push_back(static_cast<double>(os::now_ns() - start));
  }
  times->wall_ns = median(wall);
  times->processor_ns = median(processor);
  return leat_finalize() == LEAT_OK ? 0 : 1;
}

// Negative: it failed.
double size_of(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 ? static_cast<double>(facts.st_size) : -1;
}

bool run_once(const std::string& folder, const std::string& compression, Times* times) {
  static int number = 0;
  const std::string config = write_config(folder, compression);
  const std::string session =
      "compression-" + std::to_string(getpid()) + "-" + std::to_string(++number);
  auto* shared = static_cast<Times*>(
      mmap(nullptr, sizeof(Times), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (shared == MAP_FAILED) return false;
  const pid_t child = fork();
  if (child == 0) _exit(simulate(config, session, shared));
  int status = 0;
  waitpid(child, &status, 0);
  *times = *shared;
  munmap(shared, sizeof(Times));
  const std::string file = folder + "/bench.h5";
  times->file_bytes = size_of(file);
  ::unlink(file.c_str());
  return status == 0 && times->file_bytes > 0;
}

bool compare(const std::string& folder, Compared* compared) {
  for (int pair = 0; pair < kPairs; ++pair) {
    Times with, without;
    const bool first = pair % 2 == 0;  // either is first as often as the other
    if (!run_once(folder, first ? compared->compression : "none", first ? &with : &without) ||
        !run_once(folder, first ? "none" : compared->compression, first ? &without : &with))
      return false;
    compared->wall.push_back(with.wall_ns / without.wall_ns);
    compared->processor.push_back(with.processor_ns / without.processor_ns);
    compared->smaller = without.file_bytes / with.file_bytes;
  }
  return true;
}

void print(const Compared& of) {
  const double seen = median(of.wall);
  std::printf("  %-12s %5.3f x, aim %.2f: %s; processor %5.3f x; the file is %.1f times smaller\n",
              of.compression.c_str(), seen, kAim, seen <= kAim ? "reached" : "NOT reached",
              median(of.processor), of.smaller);
  std::printf("  %-12s %5.3f to %.3f\n", "", *std::min_element(of.wall.begin(), of.wall.end()),
              *std::max_element(of.wall.begin(), of.wall.end()));
  std::fflush(stdout);
}

int run(const char* json) {
  char folder[] = "/tmp/leat-compression-XXXXXX";
  if (!mkdtemp(folder)) return 1;
  std::printf(
      "\nTime in leat_write and leat_end_iteration of 8 MiB, p50, with compression over without,\n"
      "median of %d pairs of runs:\n",
      kPairs);
  nlohmann::json all = nlohmann::json::array();
  bool measured = true;
  for (const char* compression : {"deflate:1", "deflate:6", "blosc:lz4:5"}) {
    Compared compared{compression, {}, {}};
    measured = measured && compare(folder, &compared);
    if (!measured) break;
    print(compared);
    all.push_back({{"compression", compression},
                   {"time_over_none", compared.wall},
                   {"processor_time_over_none", compared.processor},
                   {"times_smaller", compared.smaller}});
  }
  if (measured && json) std::ofstream(json) << all.dump(1) << "\n";
  ::unlink((std::string(folder) + "/bench.xml").c_str());
  ::unlink("bench.ledger.json");
  ::rmdir(folder);
  return measured ? 0 : 1;
}

}  // namespace
}  // namespace leat::bench

// compression_bench [FILE]: prints a table, and writes all figures as JSON to FILE.
int main(int count, char** arguments) {
  return leat::bench::run(count > 1 ? arguments[1] : nullptr);
}

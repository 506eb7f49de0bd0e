// SPDX-License-Identifier: Apache-2.0
// Whether the server keeps up with a simulation that writes at 80 % of what the disk takes: the
// buffer holds no more at the end than at the start, and the simulation is never late.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "client-api/api/leat.h"
#include "lib/os/clock.hpp"

namespace leat::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMiB = 1 << 20;
constexpr std::size_t kBytes = 32 * kMiB;  // of an iteration
constexpr int kIterations = 192;           // 6 GiB, through a buffer of 1 GiB
constexpr int kInBuffer = 32;
constexpr int kTries = 2, kRounds = 3;
constexpr double kPart = 0.8;

double seconds_since(std::int64_t start) {
  return static_cast<double>(os::now_ns() - start) * 1e-9;
}

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "keep_up_bench: %s\n", why.c_str());
  std::exit(1);
}

// Bytes per second that one thread gets to the disk, of as much as the run will write, so that they
// are there: the slowest try, since disks have their moments. From memory as large as the buffer,
// as the server has it: no cache holds it.
double rate_of_disk(const std::string& folder, const std::vector<double>& data) {
  std::vector<double> cold;
  for (int i = 0; i < kInBuffer; ++i) cold.insert(cold.end(), data.begin(), data.end());
  std::vector<double> rates;
  const std::string path = folder + "/plain";
  for (int i = 0; i < kTries; ++i) {
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) give_up("cannot write " + path);
    const std::int64_t start = os::now_ns();
    for (int part = 0; part < kIterations; ++part) {
      const double* from = cold.data() + part % kInBuffer * data.size();
      if (write(fd, from, kBytes) != static_cast<ssize_t>(kBytes)) give_up("disk full");
    }
    fsync(fd);
    rates.push_back(kIterations * static_cast<double>(kBytes) / seconds_since(start));
    close(fd);
    fs::remove(path);
  }
  std::sort(rates.begin(), rates.end());
  return rates.front();
}

std::string write_config(const std::string& folder) {
  const std::string path = folder + "/keep_up.xml";
  std::ofstream(path) << "<simulation name=\"keep_up\"><architecture><buffer size=\"1GiB\" "
                         "timeout=\"60s\"/></architecture><data><layout name=\"field\" "
                         "type=\"double\" dimensions=\""
                      << kBytes / kMiB << "," << kMiB / sizeof(double)
                      << "\"/><variable name=\"u\" layout=\"field\"/></data><storage><store "
                         "name=\"out\" type=\"hdf5\" folder=\""
                      << folder << "\"/></storage><log level=\"warning\"/></simulation>\n";
  return path;
}

struct Run {
  double longest_call = 0, drain = 0;  // seconds
  int late = 0;                        // iterations that began after their time
  std::vector<double> waiting;         // after each: bytes handed over that are not in the file
};

// The store takes room for an iteration before it writes it, so what it has reached is known to one
// iteration.
double bytes_in(const std::string& file) {
  struct stat facts {};
  return stat(file.c_str(), &facts) == 0 ? static_cast<double>(facts.st_blocks) * 512 : 0;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Run simulate(const std::string& config, const std::string& file, const std::vector<double>& data,
             double period) {
  Run run;
  if (leat_init(config.c_str()) != LEAT_OK) give_up(leat_last_error());
  std::vector<double> own = data;
  const std::int64_t start = os::now_ns();
  for (int i = 0; i < kIterations; ++i) {
    const double ahead = i * period - seconds_since(start);
    run.late += ahead < 0;
    if (ahead > 0) std::this_thread::sleep_for(std::chrono::duration<double>(ahead));
    const std::int64_t call = os::now_ns();
    if (leat_write("u", own.data()) != LEAT_OK || leat_end_iteration() != LEAT_OK)
      give_up(leat_last_error());
    run.longest_call = std::max(run.longest_call, seconds_since(call));
    run.waiting.push_back(std::max(0.0, (i + 1.0) * kBytes - bytes_in(file)));
  }
  const std::int64_t end = os::now_ns();
  if (leat_finalize() != LEAT_OK) give_up(leat_last_error());
  run.drain = seconds_since(end);
  return run;
}

nlohmann::json round(const std::string& folder, const std::vector<double>& data) {
  const double rate = rate_of_disk(folder, data), period = kBytes / (kPart * rate);
  const std::string file = folder + "/keep_up.h5";
  const Run run = simulate(write_config(folder), file, data, period);
  fs::remove(file);
  const double rate_after = rate_of_disk(folder, data);
  const auto quarter = static_cast<std::ptrdiff_t>(run.waiting.size() / 4);
  const double first = median({run.waiting.begin(), run.waiting.begin() + quarter}),
               last = median({run.waiting.end() - quarter, run.waiting.end()}),
               most = *std::max_element(run.waiting.begin(), run.waiting.end());
  std::printf("  %5.2f %5.2f   %5.0f %5.0f %5.0f   %3d of %d   %6.1f %6.1f   %6.2f\n",
              rate / (1 << 30), rate_after / (1 << 30), first / kMiB, last / kMiB, most / kMiB,
              run.late, kIterations, run.longest_call * 1e3, period * 1e3, run.drain);
  return {{"disk_bytes_per_second", rate}, {"disk_bytes_per_second_afterwards", rate_after},
          {"waiting_bytes", run.waiting},  {"late", run.late},
          {"iterations", kIterations},     {"longest_call_seconds", run.longest_call},
          {"period_seconds", period},      {"drain_seconds", run.drain}};
}

int run(const std::string& root, const std::string& json) {
  const std::string folder = root + "/leat-keep-up-" + std::to_string(getpid());
  fs::create_directories(folder);
  std::vector<double> data(kBytes / sizeof(double));
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<double>(i * 2654435761u);
  std::printf(
      "A simulation that writes at %.0f %% of what the disk took before (aim: what waits in the "
      "buffer does not grow)\n"
      "  disk (GiB/s)   waits in the buffer (MiB)   begun late   longest write,   all stored\n"
      "  before after   first, last quarter, most                step (ms)        after (s)\n",
      kPart * 100);
  nlohmann::json rounds;
  for (int i = 0; i < kRounds; ++i) rounds.push_back(round(folder, data));
  std::ofstream(json) << rounds.dump(1) << "\n";
  fs::remove_all(folder);
  unlink("keep_up.ledger.json");
  return 0;
}

}  // namespace
}  // namespace leat::bench

int main(int count, char** arguments) {
  if (count == 3) return leat::bench::run(arguments[1], arguments[2]);
  std::fprintf(stderr, "usage: keep_up_bench FOLDER_ON_DISK JSON\n");
  return 2;
}

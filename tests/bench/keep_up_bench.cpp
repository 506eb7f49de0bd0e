// SPDX-License-Identifier: Apache-2.0
// Whether the server keeps up with a simulation that writes at 80 % of what the disk takes: the
// simulation is never late, and the buffer holds no more at the end than at the start.
#include <fcntl.h>
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

#include "client-api/leat.h"
#include "lib/platform/clock.hpp"

namespace leat::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMiB = 1 << 20;
constexpr std::size_t kBytes = 32 * kMiB;  // of an iteration
constexpr int kIterations = 192;           // 6 GiB, through a buffer of 1 GiB
constexpr int kInBuffer = 32;
constexpr int kTries = 3;
constexpr double kPart = 0.8;

double seconds_since(std::int64_t start) {
  return static_cast<double>(platform::now_ns() - start) * 1e-9;
}

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "keep_up_bench: %s\n", why.c_str());
  std::exit(1);
}

// Bytes per second that one thread gets to the disk, of as much as the run will write, so that they
// are there: median.
// From memory as large as the buffer, as the server has it: no cache holds it.
double rate_of_disk(const std::string& folder, const std::vector<double>& data) {
  std::vector<double> cold;
  for (int i = 0; i < kInBuffer; ++i) cold.insert(cold.end(), data.begin(), data.end());
  std::vector<double> rates;
  const std::string path = folder + "/plain";
  for (int i = 0; i < kTries; ++i) {
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) give_up("cannot write " + path);
    const std::int64_t start = platform::now_ns();
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
  return rates[kTries / 2];
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
};

Run simulate(const std::string& config, const std::vector<double>& data, double period) {
  Run run;
  if (leat_init(config.c_str()) != LEAT_OK) give_up(leat_last_error());
  std::vector<double> own = data;
  const std::int64_t start = platform::now_ns();
  for (int i = 0; i < kIterations; ++i) {
    const double ahead = i * period - seconds_since(start);
    run.late += ahead < 0;
    if (ahead > 0) std::this_thread::sleep_for(std::chrono::duration<double>(ahead));
    const std::int64_t call = platform::now_ns();
    if (leat_write("u", own.data()) != LEAT_OK || leat_end_iteration() != LEAT_OK)
      give_up(leat_last_error());
    run.longest_call = std::max(run.longest_call, seconds_since(call));
  }
  const std::int64_t end = platform::now_ns();
  if (leat_finalize() != LEAT_OK) give_up(leat_last_error());
  run.drain = seconds_since(end);
  return run;
}

int run(const std::string& root, const std::string& json) {
  const std::string folder = root + "/leat-keep-up-" + std::to_string(getpid());
  fs::create_directories(folder);
  std::vector<double> data(kBytes / sizeof(double));
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<double>(i * 2654435761u);
  const double rate = rate_of_disk(folder, data), period = kBytes / (kPart * rate);
  const Run done = simulate(write_config(folder), data, period);
  std::printf(
      "A simulation that writes at %.0f %% of what the disk takes (%.2f GiB/s): %d of %d "
      "iterations "
      "late,\n  longest write %.1f ms of a step of %.1f ms, %.1f ms from the last step to all "
      "stored\n",
      kPart * 100, rate / (1 << 30), done.late, kIterations, done.longest_call * 1e3, period * 1e3,
      done.drain * 1e3);
  std::ofstream(json) << nlohmann::json{{"disk_bytes_per_second", rate},
                                        {"late", done.late},
                                        {"iterations", kIterations},
                                        {"longest_call_seconds", done.longest_call},
                                        {"period_seconds", period},
                                        {"drain_seconds", done.drain}}
                             .dump(1)
                      << "\n";
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

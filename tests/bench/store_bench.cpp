// SPDX-License-Identifier: Apache-2.0
// What the hdf5 store costs the server: the plugin itself, driven as the server does it, against
// pwrite of the same bytes from one thread into a plain file; and what one of a thousand small
// variables costs. Pairs of runs take turns, so that ratios hold on noisy machines.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/os/clock.hpp"
#include "server/include/plugin.h"
#include "server/pipeline/plugin_loader.hpp"
#include "tests/bench/store_run.hpp"

namespace leat::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kPairs = 5;
constexpr std::size_t kMiB = 1 << 20;
constexpr std::size_t kBytesPerRun = 512 * kMiB;
constexpr int kIterations = 16;

double seconds_since(std::int64_t start) {
  return static_cast<double>(os::now_ns() - start) * 1e-9;
}

StorePlan plan_of(int variables, std::size_t bytes, const std::string& durability) {
  StorePlan plan;
  plan.variables = variables;
  plan.bytes = bytes;
  plan.durability = durability;
  return plan;
}

std::vector<double> sorted(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all;
}

// When the data must be on the disk; the store's `durability`, and what pwrite does for the same.
struct Sync {
  const char* durability;
  const char* of_pwrite;
};
constexpr Sync kSyncs[] = {{"none", "-"}, {"close", "at the end"}, {"iteration", "each 32 MiB"}};

double time_store(const leat_plugin& plugin, const std::string& folder, std::size_t bytes,
                  const Sync& sync) {
  const int count = static_cast<int>(kBytesPerRun / kIterations / bytes);
  StoreRun run(plugin, folder, plan_of(count, bytes, sync.durability));
  const std::int64_t start = os::now_ns();
  for (int i = 0; i < kIterations; ++i) run.iteration(i);
  run.close();
  return seconds_since(start);
}

double time_pwrite(const std::string& folder, std::size_t bytes, const Sync& sync,
                   int iterations = kIterations,
                   std::size_t per_iteration = kBytesPerRun / kIterations) {
  const std::vector<double> data = some_data(bytes);
  const std::string path = folder + "/plain";
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) give_up("cannot write " + path + ": " + std::strerror(errno));
  const std::int64_t start = os::now_ns();
  off_t at = 0;
  for (int i = 0; i < iterations; ++i) {
    for (std::size_t done = 0; done < per_iteration; done += bytes) {
      if (pwrite(fd, data.data(), bytes, at) != static_cast<ssize_t>(bytes))
        give_up("cannot write " + path + ": " + std::strerror(errno));
      at += static_cast<off_t>(bytes);
    }
    if (&sync == &kSyncs[2]) fdatasync(fd);
  }
  if (&sync == &kSyncs[1]) fsync(fd);
  ::close(fd);
  const double seconds = seconds_since(start);
  fs::remove(path);
  return seconds;
}

struct Rates {
  std::vector<double> ratios, store, plain;  // sorted; GiB/s
};

Rates against_pwrite(const leat_plugin& plugin, const std::string& folder, std::size_t bytes,
                     const Sync& sync) {
  Rates rates;
  const double gib = static_cast<double>(kBytesPerRun) / (1024.0 * kMiB);
  for (int pair = 0; pair < kPairs; ++pair) {
    const double plain = time_pwrite(folder, bytes, sync);
    const double store = time_store(plugin, folder, bytes, sync);
    fs::remove(folder + "/bench.h5");
    rates.ratios.push_back(plain / store);
    rates.store.push_back(gib / store);
    rates.plain.push_back(gib / plain);
  }
  return {sorted(rates.ratios), sorted(rates.store), sorted(rates.plain)};
}

// Microseconds per variable and iteration, sorted.
std::vector<double> small_variables(const leat_plugin& plugin, const std::string& folder) {
  constexpr int kVariables = 1000, kWarm = 5, kMeasured = 20;
  std::vector<double> all;
  for (int run = 0; run < kPairs; ++run) {
    StoreRun store(plugin, folder, plan_of(kVariables, 1024, "none"));
    for (int i = 0; i < kWarm; ++i) store.iteration(i);
    const std::int64_t start = os::now_ns();
    for (int i = 0; i < kMeasured; ++i) store.iteration(kWarm + i);
    all.push_back(seconds_since(start) * 1e6 / (kVariables * kMeasured));
    store.close();
    fs::remove(folder + "/bench.h5");
  }
  return sorted(all);
}

void print(const char* place, std::size_t bytes, const Sync& sync, const Rates& rates) {
  std::printf("  %-6s %3zu MiB  %-11s %7.2f %7.2f   %5.2f (%.2f-%.2f)\n", place, bytes / kMiB,
              sync.of_pwrite, rates.plain[kPairs / 2], rates.store[kPairs / 2],
              rates.ratios[kPairs / 2], rates.ratios.front(), rates.ratios.back());
}

// Many small blocks in each iteration; `piece` is what pwrite gets at once.
struct SmallBlocks {
  const char* name;
  const char* json;
  StorePlan::Layout layout;
  int variables, blocks;  // of each
  std::size_t bytes, piece;
  int iterations;
};
constexpr SmallBlocks kSmallBlocks[] = {
    {"16 x 64 KiB", "small_blocks", StorePlan::Layout::single, 16, 1, 64 * 1024, 64 * 1024, 200},
    {"2000 x 8^3", "many_blocks", StorePlan::Layout::blocks, 1, 2000, 8 * 8 * 8 * sizeof(double),
     2000 * 8 * 8 * 8 * sizeof(double) / 8, 30}};

Rates small_blocks(const leat_plugin& plugin, const std::string& folder, const SmallBlocks& cell) {
  constexpr int kWarm = 5;
  const std::size_t bytes = static_cast<std::size_t>(cell.variables * cell.blocks) * cell.bytes;
  const double gib =
      static_cast<double>(bytes) * cell.iterations / (1024.0 * static_cast<double>(kMiB));
  Rates rates;
  for (int pair = 0; pair < kPairs; ++pair) {
    const double plain = time_pwrite(folder, cell.piece, kSyncs[0], cell.iterations, bytes);
    StorePlan plan = plan_of(cell.variables, cell.bytes, "none");
    plan.layout = cell.layout;
    plan.blocks = cell.blocks;
    StoreRun store(plugin, folder, plan);
    for (int i = 0; i < kWarm; ++i) store.iteration(i);
    const std::int64_t start = os::now_ns();
    for (int i = 0; i < cell.iterations; ++i) store.iteration(kWarm + i);
    const double seconds = seconds_since(start);
    store.close();
    fs::remove(folder + "/bench.h5");
    rates.ratios.push_back(plain / seconds);
    rates.store.push_back(gib / seconds);
    rates.plain.push_back(gib / plain);
  }
  return {sorted(rates.ratios), sorted(rates.store), sorted(rates.plain)};
}

void measure_small_blocks(const leat_plugin& plugin, const std::string& name,
                          const std::string& folder, nlohmann::json* json) {
  for (const SmallBlocks& cell : kSmallBlocks) {
    const Rates rates = small_blocks(plugin, folder, cell);
    std::printf("  %-6s %-11s           %7.2f %7.2f   %5.2f (%.2f-%.2f)\n", name.c_str(), cell.name,
                rates.plain[kPairs / 2], rates.store[kPairs / 2], rates.ratios[kPairs / 2],
                rates.ratios.front(), rates.ratios.back());
    (*json)[cell.json].push_back({{"place", name},
                                  {"ratios", rates.ratios},
                                  {"pwrite", rates.plain},
                                  {"hdf5", rates.store}});
  }
}

void measure_rates(const leat_plugin& plugin, const std::string& name, const std::string& folder,
                   nlohmann::json* json) {
  for (const std::size_t bytes : {kMiB, 4 * kMiB, 32 * kMiB}) {
    for (const Sync& sync : kSyncs) {
      const Rates rates = against_pwrite(plugin, folder, bytes, sync);
      print(name.c_str(), bytes, sync, rates);
      (*json)["rates"].push_back({{"place", name},
                                  {"bytes", bytes},
                                  {"durability", sync.durability},
                                  {"ratios", rates.ratios},
                                  {"pwrite", rates.plain},
                                  {"hdf5", rates.store}});
    }
  }
}

void measure_small_variables(const leat_plugin& plugin, const std::string& name,
                             const std::string& folder, nlohmann::json* json) {
  const std::vector<double> small = small_variables(plugin, folder);
  std::printf("  %-6s 1000 variables of 1 KiB: %.1f us each (%.1f-%.1f; aim: <= 20)\n",
              name.c_str(), small[kPairs / 2], small.front(), small.back());
  (*json)["small"].push_back({{"place", name}, {"microseconds", small}});
}

int run(const std::string& plugin_path, const std::string& disk, const std::string& json_path,
        bool only_small) {
  const Result<server::LoadedPlugin> loaded = server::load_plugin(plugin_path);
  if (!loaded) give_up("cannot load " + plugin_path);
  const leat_plugin& plugin = *loaded->plugin();
  nlohmann::json json;
  std::printf(
      "The hdf5 store against pwrite of the same bytes (GiB/s; aim: ratio >= 0.85, "
      "2000 blocks 0.5)\n");
  std::printf("  place  block    sync         pwrite    hdf5   ratio (range of %d)\n", kPairs);
  for (const auto& [name, root] : {std::pair<const char*, std::string>{"disk", disk},
                                   std::pair<const char*, std::string>{"tmpfs", "/dev/shm"}}) {
    const std::string folder = root + "/leat-store-bench-" + std::to_string(getpid());
    fs::create_directories(folder);
    measure_small_blocks(plugin, name, folder, &json);
    if (!only_small) measure_rates(plugin, name, folder, &json);
    measure_small_variables(plugin, name, folder, &json);
    fs::remove_all(folder);
  }
  std::ofstream(json_path) << json.dump(1) << "\n";
  return 0;
}

}  // namespace
}  // namespace leat::bench

int main(int count, char** arguments) {
  const bool only_small = count == 5 && std::string(arguments[4]) == "small";
  if (count == 4 || only_small)
    return leat::bench::run(arguments[1], arguments[2], arguments[3], only_small);
  std::fprintf(stderr, "usage: store_bench PLUGIN FOLDER_ON_DISK JSON [small]\n");
  return 2;
}

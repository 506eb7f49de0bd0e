// SPDX-License-Identifier: Apache-2.0
// Many servers that write into few files, or few at one time.
//   files_bench shared PLUGIN FOLDER SERVERS FILES ITERATIONS BYTES   processes with a store each, which takes turns by semaphores;
//                                                                     FILES 0: a file of each. Seconds until all have closed
//   files_bench turns SERVERS MOST ITERATIONS QUANTA                  engines in this process, whose stores share a disk that does one
//                                                                     quantum of 1 ms after the other. MOST 0: all at once
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "lib/os/clock.hpp"
#include "server/pipeline/plugin_loader.hpp"
#include "tests/bench/store_run.hpp"
#include "tests/support/turning_server.hpp"

namespace leat::bench {
namespace {

using nlohmann::json;

double seconds() { return static_cast<double>(os::now_ns()) / 1e9; }

// ---- shared ----

struct Shared {
  sem_t begin;
  sem_t files[1000];
};

void write_all(const std::string& library, const std::string& folder, StorePlan plan, int files,
               int iterations, Shared* shared) {
  const Result<server::LoadedPlugin> plugin = server::load_plugin(library);
  if (!plugin) give_up(plugin.error().message);
  int held = -1;
  const auto leave = [&] {
    if (held >= 0) sem_post(&shared->files[held]);
    held = -1;
  };
  plan.shared_file = [&](std::int32_t count) {
    if (count == 0) leave();
    if (count == 0) return -1;
    if (held < 0) {
      held = plan.server * std::min(files, plan.servers) / plan.servers;
      sem_wait(&shared->files[held]);
    }
    return held;
  };
  sem_wait(&shared->begin);
  StoreRun run(*plugin->plugin(), folder, plan);
  for (int i = 0; i < iterations; ++i) {
    run.iteration(i);
    leave();
  }
  run.close();
  leave();
}

json shared(char** words) {
  StorePlan plan;
  plan.layout = StorePlan::Layout::part;
  plan.servers = std::atoi(words[2]);
  const int files = std::atoi(words[3]), iterations = std::atoi(words[4]);
  plan.bytes = static_cast<std::size_t>(std::atoll(words[5]));
  plan.files = files == 0 ? "node" : std::to_string(files);
  auto* const memory = static_cast<Shared*>(
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  sem_init(&memory->begin, 1, 0);
  for (sem_t& file : memory->files) sem_init(&file, 1, 1);
  for (plan.server = 0; plan.server < plan.servers; ++plan.server) {
    if (::fork() != 0) continue;
    write_all(words[0], words[1], plan, files, iterations, memory);
    std::_Exit(0);
  }
  const double begin = seconds();
  for (int i = 0; i < plan.servers; ++i) sem_post(&memory->begin);
  for (int i = 0; i < plan.servers; ++i) {
    int status = 0;
    if (::wait(&status) < 0 || status != 0) give_up("a server has failed");
  }
  return {{"seconds", seconds() - begin}};
}

// ---- turns ----

json turns(char** words) {
  const int servers = std::atoi(words[0]), iterations = std::atoi(words[2]),
            quanta = std::atoi(words[3]);
  comm::tests::MemoryServers all(servers);
  const model::Store store = server::tests::turning_store(std::atoi(words[1]));
  std::vector<std::unique_ptr<server::tests::TurningServer>> each;
  for (int i = 0; i < servers; ++i)
    each.push_back(std::make_unique<server::tests::TurningServer>(all, i, store));
  std::vector<std::vector<double>> times(each.size());  // of iterations, from where it may write
  std::mutex disk;
  const double begin = seconds();
  {
    std::vector<std::jthread> stores;
    for (std::size_t n = 0; n < each.size(); ++n) {
      stores.emplace_back([&, n] {
        for (int i = 0; i < iterations; ++i) {
          const server::Turns::Turn turn = each[n]->turns.take(0, 0);
          const double from = seconds();
          for (int q = 0; q < quanta; ++q) {
            const std::lock_guard<std::mutex> lock(disk);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
          times[n].push_back(seconds() - from);
        }
      });
    }
  }
  const double total = seconds() - begin;
  double sum = 0, squares = 0, count = 0;
  for (const auto& its_times : times) {
    for (const double time : its_times) sum += time, squares += time * time, ++count;
  }
  const double mean = sum / count;
  return {{"seconds", total},
          {"write_s", mean},
          {"deviation_s", std::sqrt(std::max(0.0, squares / count - mean * mean))}};
}

}  // namespace
}  // namespace leat::bench

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "shared" && argc == 8) {
    std::cout << leat::bench::shared(argv + 2) << "\n";
  } else if (what == "turns" && argc == 6) {
    std::cout << leat::bench::turns(argv + 2) << "\n";
  } else {
    leat::bench::give_up("files_bench: see the head of its source");
  }
  return 0;
}

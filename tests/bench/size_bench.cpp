// SPDX-License-Identifier: Apache-2.0
// How large a file of the hdf5 store is, beside the data in it: the plugin itself, driven as the
// server does it. Each case is "LAYOUT VARIABLES BLOCKS ITERATIONS BYTES PARAMETERS", blocks of
// each variable; a line of JSON says what its file has: bytes of data, what is allowed for them,
// bytes of the file, and processor seconds of the first iteration, of the others and of the end.
// The last file is kept as FILE, unless that is "-".
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "server/pipeline/plugin_loader.hpp"
#include "tests/bench/job/cpu_time.hpp"
#include "tests/bench/store_run.hpp"

namespace leat::bench {
namespace {

namespace fs = std::filesystem;

struct Case {
  StorePlan plan;
  int iterations = 1;
};

Case case_of(const std::string& line) {
  static const std::map<std::string, StorePlan::Layout> kLayouts{
      {"scalar", StorePlan::Layout::scalar}, {"single", StorePlan::Layout::single},
      {"global", StorePlan::Layout::global}, {"part", StorePlan::Layout::part},
      {"blocks", StorePlan::Layout::blocks}, {"amr", StorePlan::Layout::amr}};
  Case found;
  std::string layout;
  std::istringstream words(line);
  words >> layout >> found.plan.variables >> found.plan.blocks >> found.iterations >>
      found.plan.bytes >> found.plan.parameters;
  if (!words || kLayouts.count(layout) == 0) give_up("size_bench: what is \"" + line + "\"?");
  found.plan.layout = kLayouts.at(layout);
  found.plan.durability = "none";
  return found;
}

// A view has no data.
fs::path file_in(const std::string& folder) {
  const fs::path parts = folder + "/bench.parts";
  for (const fs::directory_entry& each :
       fs::recursive_directory_iterator(fs::exists(parts) ? parts : fs::path(folder))) {
    if (each.path().extension() == ".h5") return each.path();
  }
  give_up("size_bench: there is no file in " + folder);
}

nlohmann::json measure(const leat_plugin& plugin, const std::string& folder, const Case& asked) {
  const StorePlan& plan = asked.plan;
  fs::create_directories(folder);
  StoreRun run(plugin, folder, plan);
  const double start = process_cpu_seconds();
  run.iteration(0);
  const double first = process_cpu_seconds();
  for (int i = 1; i < asked.iterations; ++i) run.iteration(i);
  const double others = process_cpu_seconds();
  run.close();
  const auto blocks =
      static_cast<std::uint64_t>(plan.variables) * static_cast<std::uint64_t>(plan.blocks) +
      static_cast<std::uint64_t>(plan.parameters);
  const std::uint64_t pieces = blocks * static_cast<std::uint64_t>(asked.iterations);
  const std::uint64_t data = (static_cast<std::uint64_t>(plan.variables) *
                                  static_cast<std::uint64_t>(plan.blocks) * plan.bytes +
                              static_cast<std::uint64_t>(plan.parameters) * sizeof(double)) *
                             static_cast<std::uint64_t>(asked.iterations);
  return {{"data", data},
          {"allowed", data + data / 20 + 200 * pieces + 64 * 1024},
          {"bytes", fs::file_size(file_in(folder))},
          {"first_s", first - start},
          {"others_s", others - first},
          {"close_s", process_cpu_seconds() - others}};
}

int run(const std::string& plugin_path, const std::string& folder, const std::string& kept,
        const std::vector<std::string>& cases) {
  const Result<server::LoadedPlugin> loaded = server::load_plugin(plugin_path);
  if (!loaded) give_up("cannot load " + plugin_path);
  for (const std::string& each : cases) {
    const nlohmann::json facts = measure(*loaded->plugin(), folder, case_of(each));
    std::cout << facts.dump() << std::endl;
    if (kept != "-") fs::copy_file(file_in(folder), kept, fs::copy_options::overwrite_existing);
    fs::remove_all(folder);
  }
  return 0;
}

}  // namespace
}  // namespace leat::bench

int main(int count, char** arguments) {
  if (count > 4)
    return leat::bench::run(arguments[1], arguments[2], arguments[3],
                            {arguments + 4, arguments + count});
  std::fprintf(stderr, "usage: size_bench PLUGIN FOLDER FILE CASE...\n");
  return 2;
}

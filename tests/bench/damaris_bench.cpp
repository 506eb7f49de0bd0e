// SPDX-License-Identifier: Apache-2.0
// What a call costs by the name that Damaris has for it, beyond the call of Leat that it is: batches
// of both in turn, in one session. One run, its figures as JSON: medians of batches, and what each
// call takes more.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "client-api/api/leat.h"
#include "client-api/integrations/damaris/Damaris.h"
#include "lib/os/clock.hpp"

namespace leat::bench {
namespace {

constexpr int kValues = 64;  // of double, in a block
constexpr int kCalls = 50;   // in a batch
constexpr int kWarmUp = 20;

double data[kValues];
const std::int64_t origin[1] = {0};

struct Pair {
  const char* name;
  int calls;  // of Damaris
  std::function<bool()> leat, damaris;
};

bool alloc_and_commit() {
  void* memory = nullptr;
  return leat_alloc("u", &memory) == LEAT_OK && leat_commit("u") == LEAT_OK;
}

bool alloc_commit_and_clear() {
  void* memory = nullptr;
  return damaris_alloc("u", &memory) == DAMARIS_OK && damaris_commit("u") == DAMARIS_OK &&
         damaris_clear("u") == DAMARIS_OK;
}

bool get_by_leat() {
  std::int64_t value = 0;
  return leat_get_int("n", &value) == LEAT_OK && value == kValues;
}

bool get_by_damaris() {
  int value = 0;
  return damaris_parameter_get("n", &value, sizeof value) == DAMARIS_OK && value == kValues;
}

const std::vector<Pair> kPairs = {
    {"write", 1, [] { return (leat_write)("u", data) == LEAT_OK; },
     [] { return damaris_write("u", data) == DAMARIS_OK; }},
    {"write_block", 1, [] { return (leat_write_block)("u", 1, data) == LEAT_OK; },
     [] { return damaris_write_block("u", 1, data) == DAMARIS_OK; }},
    {"alloc, commit and clear", 3, alloc_and_commit, alloc_commit_and_clear},
    {"set_position", 1, [] { return leat_set_position("u", 0, origin) == LEAT_OK; },
     [] { return damaris_set_position("u", origin) == DAMARIS_OK; }},
    {"parameter_get", 1, get_by_leat, get_by_damaris},
    {"end_iteration", 1, [] { return leat_end_iteration() == LEAT_OK; },
     [] { return damaris_end_iteration() == DAMARIS_OK; }},
};

// Nanoseconds of one call.
double batch(const std::function<bool()>& call, bool* well) {
  const std::int64_t begin = os::now_ns();
  for (int i = 0; i < kCalls; ++i) *well = call() && *well;
  return static_cast<double>(os::now_ns() - begin) / kCalls;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

bool measure(const Pair& pair, int batches, nlohmann::json* figures) {
  std::vector<double> leat, damaris;
  bool well = true;
  for (int i = -kWarmUp; i < batches && well; ++i) {
    const bool first = i % 2 == 0;  // whoever is second finds more in the caches
    double of_damaris = first ? batch(pair.damaris, &well) : 0;
    const double of_leat = batch(pair.leat, &well);
    if (!first) of_damaris = batch(pair.damaris, &well);
    if (i >= 0) leat.push_back(of_leat), damaris.push_back(of_damaris);
    well = leat_end_iteration() == LEAT_OK && well;
  }
  if (!well) return false;
  const double here = median(leat), there = median(damaris);
  (*figures)[pair.name] = {
      {"leat_ns", here}, {"damaris_ns", there}, {"more_ns", (there - here) / pair.calls}};
  return true;
}

void write_config(const std::string& path) {
  std::ofstream(path)
      << "<simulation name=\"damaris\"><architecture><dedicated cores=\"1\"/><buffer "
         "size=\"256MiB\" "
         "timeout=\"60s\"/></architecture><data><parameter name=\"n\" type=\"int\" value=\""
      << kValues
      << "\"/><layout name=\"cells\" type=\"double\" dimensions=\"n\" global=\"n\" blocks=\"2\"/>"
         "<variable name=\"u\" layout=\"cells\"/></data><storage><store name=\"discard\" library=\""
      << LEAT_DISCARD_PLUGIN << "\"/></storage><log level=\"error\"/></simulation>\n";
}

int run(const std::string& config, int batches) {
  int is_client = 0;
  write_config(config);
  nlohmann::json figures;
  bool well = damaris_initialize(config.c_str(), MPI_COMM_WORLD) == DAMARIS_OK &&
              damaris_start(&is_client) == DAMARIS_OK && is_client;
  for (const Pair& pair : kPairs) well = well && measure(pair, batches, &figures);
  well = damaris_stop() == DAMARIS_OK && damaris_finalize() == DAMARIS_OK && well;
  if (well) std::puts(figures.dump().c_str());
  return well ? 0 : 1;
}

}  // namespace
}  // namespace leat::bench

int main(int count, char** arguments) {
  if (count != 3) {
    std::fputs("usage: leat_damaris_bench CONFIG BATCHES\n", stderr);
    return 2;
  }
  MPI_Init(&count, &arguments);
  const int status = leat::bench::run(arguments[1], std::atoi(arguments[2]));
  MPI_Finalize();
  return status;
}

// SPDX-License-Identifier: Apache-2.0
// What a call costs a simulation: leat_write against memcpy of the same bytes into private, warm
// memory, and the calls that copy nothing; and what a checksum adds. All figures of a row come from
// one run, call by call in turn, so that ratios hold on noisy machines.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lib/platform/affinity.hpp"
#include "lib/platform/clock.hpp"
#include "lib/platform/crc32c.hpp"
#include "lib/platform/memory.hpp"
#include "tests/bench/measured_client.hpp"

namespace leat::bench {
namespace {

constexpr const char* kBuffer = "512MiB";

struct Size {
  std::size_t bytes;
  int iterations;
  int writes_per_iteration;
};

constexpr Size kSizes[] = {
    {1 << 10, 4000, 8}, {64 << 10, 2000, 4}, {1 << 20, 600, 2}, {16 << 20, 60, 1}};

struct Row {
  int clients;
  std::size_t bytes;
  Percentiles of[kKinds];
  const Percentiles& at(Kind kind) const { return of[static_cast<int>(kind)]; }
  double ratio() const { return at(Kind::write).p50 / at(Kind::memcpy_warm).p50; }
};

// What a checksum adds, as ratio to memcpy with one over that without. Runs of both kinds take
// turns.
constexpr Size kGuardedSizes[] = {{64 << 10, 1000, 4}, {1 << 20, 300, 2}, {16 << 20, 30, 1}};
constexpr int kPairs = 5;
struct Guarded {
  std::size_t bytes;
  std::vector<double> ratios;  // sorted, one per pair of runs
  double median() const { return ratios[ratios.size() / 2]; }
};

std::string write_config(const std::string& folder, std::size_t bytes, const char* checksum,
                         const char* read) {
  const std::string path = folder + "/bench.xml";
  std::ofstream(path)
      << "<simulation name=\"bench\"><architecture><dedicated cores=\"1\"/><buffer size=\""
      << kBuffer << "\" timeout=\"30s\" checksum=\"" << checksum
      << "\"/></architecture><data><layout name=\"bytes\" type=\"uint8\" "
         "dimensions=\""
      << bytes << "\"/><variable name=\"written\" layout=\"bytes\"/>"
      << "<variable name=\"committed\" layout=\"bytes\"/></data><storage><store name=\"discard\" "
         "library=\""
      << LEAT_DISCARD_PLUGIN << "\"><option name=\"read\" value=\"" << read
      << "\"/></store></storage><log level=\"error\"/></simulation>\n";
  return path;
}

bool wait_for_all(const std::vector<pid_t>& children) {
  bool all_well = true;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    all_well = all_well && status == 0;
  }
  return all_well;
}

// Figures of a run in which a call failed would be worth nothing.
std::optional<Row> measure(const std::string& folder, int clients, const Size& size,
                           const char* checksum = "none", const char* read = "no",
                           bool processor_time = false) {
  Samples samples(clients, size.iterations * size.writes_per_iteration);
  Load load;
  load.config = write_config(folder, size.bytes, checksum, read);
  load.session = "bench-" + std::to_string(getpid()) + "-" + std::to_string(clients) + "-" +
                 std::to_string(size.bytes);
  load.clients = clients;
  load.processor_time = processor_time;
  load.bytes = size.bytes;
  load.iterations = size.iterations;
  load.writes_per_iteration = size.writes_per_iteration;
  load.core = clients < platform::allowed_cpus().count() ? 0 : -1;
  std::vector<pid_t> children;
  for (int client = 0; client < clients; ++client) {
    const pid_t child = fork();
    if (child == 0) _exit(run_client(load, client, samples));
    children.push_back(child);
  }
  if (!wait_for_all(children)) return std::nullopt;
  Row row{clients, size.bytes, {}};
  for (int kind = 0; kind < kKinds; ++kind)
    row.of[kind] = samples.percentiles(static_cast<Kind>(kind));
  return row;
}

void print_head() {
  std::printf("%7s %8s | %9s | %9s %9s %9s %6s | %8s %8s | %8s %8s %9s\n", "clients", "bytes",
              "memcpy", "write", "p99", "max", "ratio", "alloc", "commit", "end", "p99", "max");
}

void print(const Row& row) {
  const auto us = [](double ns) { return ns / 1000; };
  const Percentiles &write = row.at(Kind::write), &end = row.at(Kind::end_iteration);
  std::printf("%7d %8s | %9.2f | %9.2f %9.2f %9.1f %6.2f | %8.2f %8.2f | %8.2f %8.2f %9.1f\n",
              row.clients, platform::format_bytes(row.bytes).c_str(),
              us(row.at(Kind::memcpy_warm).p50), us(write.p50), us(write.p99), us(write.max),
              row.ratio(), us(row.at(Kind::alloc).p50), us(row.at(Kind::commit).p50), us(end.p50),
              us(end.p99), us(end.max));
  std::fflush(stdout);
}

void print_aim(const char* what, double value, double aim, const char* unit) {
  std::printf("  %-52s %6.2f %s, aim %.2f: %s\n", what, value, unit, aim,
              value <= aim ? "reached" : "NOT reached");
}

// The aims are for a server that is awake on a core of its own: one client.
void print_aims(const std::vector<Row>& rows) {
  std::printf("\nAims, one client, p50:\n");
  for (const Row& row : rows) {
    if (row.clients != 1) continue;
    const std::string size = platform::format_bytes(row.bytes);
    if (row.bytes >= 64 << 10)
      print_aim(("leat_write of " + size + " over memcpy").c_str(), row.ratio(), 1.1, "x ");
    if (row.bytes > 1 << 10) continue;
    const double fixed = row.at(Kind::write).p50 - row.at(Kind::memcpy_warm).p50;
    print_aim(("fixed cost of leat_write of " + size).c_str(), fixed / 1000, 0.5, "us");
    print_aim("leat_commit", row.at(Kind::commit).p50 / 1000, 0.3, "us");
    print_aim("leat_end_iteration", row.at(Kind::end_iteration).p50 / 1000, 1.0, "us");
  }
}

void print(const Guarded& guarded) {
  const std::string what =
      "leat_write of " + platform::format_bytes(guarded.bytes) + " with checksum over without";
  print_aim(what.c_str(), guarded.median(), 1.1, "x ");
  std::printf("  %-52s %6.2f to %.2f in %zu pairs of runs\n", "", guarded.ratios.front(),
              guarded.ratios.back(), guarded.ratios.size());
  std::fflush(stdout);
}

// The copy alone, into shared memory that is cold (much more of it than the caches hold) or hot,
// with and without the sum in turn: what the checksum itself costs, whatever the server does
// meanwhile.
double copy_ratio(std::size_t bytes, std::size_t room) {
  const std::size_t step = bytes + 192;  // as blocks lie behind their headers
  char* const memory = static_cast<char*>(mmap(nullptr, room, PROT_READ | PROT_WRITE,
                                               MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0));
  if (memory == MAP_FAILED) return 0;
  std::memset(memory, 1, room);
  const std::vector<char> source(bytes, 3);
  std::vector<std::int64_t> plain, summed;
  std::size_t at = 192;
  const auto timed = [&](auto copy, std::vector<std::int64_t>* into) {
    const std::int64_t start = platform::now_ns();
    copy(memory + at);
    into->push_back(platform::now_ns() - start);
    at = at + 2 * step <= room ? at + step : 192;
  };
  for (int i = 0; i < 801; ++i) {
    timed(
        [&](char* to) {
          std::memcpy(to, source.data(), bytes);
          asm volatile("" : : "r"(to) : "memory");
        },
        &plain);
    timed([&](char* to) { (void)platform::copy_crc32c(to, source.data(), bytes); }, &summed);
  }
  munmap(memory, room);
  std::sort(plain.begin(), plain.end());
  std::sort(summed.begin(), summed.end());
  return static_cast<double>(summed[400]) / static_cast<double>(plain[400]);
}

void measure_copies() {
  std::printf("\nThe copy with CRC-32C over memcpy, p50 of 801 each in turn:\n");
  for (const Size& size : kGuardedSizes) {
    if (size.bytes > 1 << 20) continue;
    const std::string bytes = platform::format_bytes(size.bytes);
    print_aim((bytes + " into cold memory").c_str(), copy_ratio(size.bytes, 512 << 20), 1.1, "x ");
    print_aim((bytes + " into hot memory").c_str(), copy_ratio(size.bytes, 3 * size.bytes), 1.1,
              "x ");
  }
}

bool measure_guarded(const std::string& folder, std::vector<Guarded>* all) {
  std::printf("\nChecksums, one client, p50:\n");
  for (const Size& size : kGuardedSizes) {
    Guarded guarded{size.bytes, {}};
    for (int pair = 0; pair < kPairs; ++pair) {
      const bool first = pair % 2 == 0;  // either kind is first as often as the other
      const std::optional<Row> a = measure(folder, 1, size, first ? "crc32c" : "none", "yes", true);
      const std::optional<Row> b = measure(folder, 1, size, first ? "none" : "crc32c", "yes", true);
      if (!a || !b) return false;
      guarded.ratios.push_back(first ? a->ratio() / b->ratio() : b->ratio() / a->ratio());
    }
    std::sort(guarded.ratios.begin(), guarded.ratios.end());
    print(guarded);
    all->push_back(guarded);
  }
  return true;
}

void save(const std::vector<Row>& rows, const std::vector<Guarded>& all_guarded,
          const std::string& path) {
  const char* const names[kKinds] = {"memcpy", "write", "alloc", "commit", "end_iteration"};
  nlohmann::json all = nlohmann::json::array();
  for (const Row& row : rows) {
    nlohmann::json one{
        {"clients", row.clients}, {"bytes", row.bytes}, {"write_over_memcpy", row.ratio()}};
    for (int kind = 0; kind < kKinds; ++kind) {
      one[names[kind]] = {
          {"p50_ns", row.of[kind].p50}, {"p99_ns", row.of[kind].p99}, {"max_ns", row.of[kind].max}};
    }
    all.push_back(one);
  }
  for (const Guarded& guarded : all_guarded)
    all.push_back({{"bytes", guarded.bytes}, {"checksum_over_none", guarded.ratios}});
  std::ofstream(path) << all.dump(1) << "\n";
}

bool measure_all(const std::string& folder, std::vector<Row>* rows) {
  print_head();
  for (const int clients : {1, 2, 4}) {
    for (const Size& size : kSizes) {
      const std::optional<Row> row = measure(folder, clients, size);
      if (!row) return false;
      print(*row);
      rows->push_back(*row);
    }
  }
  return true;
}

int run(const char* json, bool only_guarded) {
  char folder[] = "/tmp/leat-bench-XXXXXX";
  if (!mkdtemp(folder)) return 1;
  std::printf("Microseconds; buffer %s, %d cores. A ratio is write over memcpy, both p50.\n",
              kBuffer, platform::allowed_cpus().count());
  std::vector<Row> rows;
  std::vector<Guarded> guarded;
  bool measured = only_guarded || measure_all(folder, &rows);
  if (measured && !only_guarded) print_aims(rows);
  if (measured) measure_copies();
  measured = measured && measure_guarded(folder, &guarded);
  if (measured && json) save(rows, guarded, json);
  unlink((std::string(folder) + "/bench.xml").c_str());
  unlink("bench.ledger.json");  // of the last run, in the folder that we are in
  rmdir(folder);
  return measured ? 0 : 1;
}

}  // namespace
}  // namespace leat::bench

// leat_bench [--checksums] [FILE]: prints a table, and writes all figures as JSON to FILE.
int main(int count, char** arguments) {
  const bool only_guarded = count > 1 && std::string(arguments[1]) == "--checksums";
  const int file = only_guarded ? 2 : 1;
  return leat::bench::run(count > file ? arguments[file] : nullptr, only_guarded);
}

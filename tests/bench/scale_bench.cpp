// SPDX-License-Identifier: Apache-2.0
// How the cost of a small write, of the end of an iteration, of the server for each block, and the
// memory of a client grow with clients and variables: one run, its figures as JSON. Clients may be
// more than cores, so what counts is processor time.
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "client-api/api/leat.h"
#include "lib/os/child_process.hpp"
#include "tests/bench/forked_clients.hpp"
#include "tests/bench/job/cpu_time.hpp"

namespace leat::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kValues = 64;  // of double, in a block
constexpr int kWarmUp = 3;
constexpr long kBlocks = 200'000;  // of all clients and iterations, about

struct Figures {  // of one client
  double write_ns = 0, end_ns = 0, private_kib = 0, shared_kib = 0, server_s = 0;
};

// In memory that parent and clients share.
struct Shared {
  pthread_barrier_t all;
  Figures of[1];  // one for each client
};

struct Size {
  int clients, variables;
  int iterations() const {
    return static_cast<int>(std::clamp<long>(kBlocks / clients / variables, 5, 2000));
  }
};

// VmRSS and the like, KiB.
double of_status(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.rfind(name + ":", 0) == 0) return std::stod(line.substr(name.size() + 1));
  return 0;
}
double private_kib() { return of_status("RssAnon") + of_status("RssFile"); }

void write_config(const std::string& path, const Size& size) {
  std::ofstream file(path);
  file
      << "<simulation name=\"scale\"><architecture><dedicated cores=\"1\"/><buffer size=\"256MiB\" "
         "timeout=\"60s\"/></architecture><data><layout name=\"cells\" type=\"double\" "
         "dimensions=\""
      << kValues << "\"/>";
  for (int i = 0; i < size.variables; ++i)
    file << "<variable name=\"variable_" << i << "\" layout=\"cells\"/>";
  file << "</data><storage><store name=\"discard\" library=\"" << LEAT_DISCARD_PLUGIN
       << "\"/></storage><log level=\"error\"/></simulation>\n";
}

class Client {
 public:
  Client(const Size& size, int rank, Shared* shared) : size_(size), rank_(rank), shared_(shared) {
    for (int i = 0; i < size.variables; ++i) names_.push_back("variable_" + std::to_string(i));
  }

  int run(const std::string& config, const std::string& session) {
    const leat_ranks ranks{sizeof ranks, rank_,         size_.clients,
                           rank_,        size_.clients, session.c_str()};
    const double before_kib = private_kib();
    if (leat_init_ranks(config.c_str(), &ranks) != LEAT_OK) return failed();
    const pid_t server = own_server();
    for (int i = 0; i < kWarmUp; ++i) iteration(nullptr);
    pthread_barrier_wait(&shared_->all);
    const double server_before = server ? cpu_seconds_of(server) : 0;
    Figures& figures = shared_->of[rank_];
    for (int i = 0; i < size_.iterations(); ++i) iteration(&figures);
    pthread_barrier_wait(&shared_->all);
    figures.private_kib = private_kib() - before_kib;
    figures.shared_kib = of_status("RssShmem");
    if (server) figures.server_s = cpu_seconds_of(server) - server_before;
    pthread_barrier_wait(&shared_->all);
    return leat_finalize() == LEAT_OK ? 0 : failed();
  }

 private:
  static int failed() {
    std::fprintf(stderr, "%s\n", leat_last_error());
    return 1;
  }

  static pid_t own_server() {
    for (const pid_t pid : os::processes_called("leatd"))
      if (parent_of(pid) == getpid()) return pid;
    return 0;
  }

  void iteration(Figures* figures) {
    const double start = thread_cpu_seconds();
    for (const std::string& name : names_)
      if (leat_write(name.c_str(), data_) != LEAT_OK) std::exit(failed());
    const double written = thread_cpu_seconds();
    if (leat_end_iteration() != LEAT_OK) std::exit(failed());
    if (!figures) return;
    figures->write_ns += (written - start) * 1e9;
    figures->end_ns += (thread_cpu_seconds() - written) * 1e9;
  }

  const Size size_;
  const int rank_;
  Shared* const shared_;
  std::vector<std::string> names_;
  double data_[kValues] = {1};
};

nlohmann::json as_json(const Size& size, const Shared& shared) {
  Figures sum;
  for (int i = 0; i < size.clients; ++i) {
    const Figures& one = shared.of[i];
    sum.write_ns += one.write_ns;
    sum.end_ns += one.end_ns;
    sum.private_kib += one.private_kib;
    sum.shared_kib += one.shared_kib;
    sum.server_s += one.server_s;
  }
  const double ends = static_cast<double>(size.clients) * size.iterations();
  const double blocks = ends * size.variables;
  return {{"write_ns", sum.write_ns / blocks},
          {"end_ns", sum.end_ns / ends},
          {"server_ns_per_block", sum.server_s * 1e9 / blocks},
          {"private_kib", sum.private_kib / size.clients},
          {"shared_kib", sum.shared_kib / size.clients}};
}

Shared* make_shared(int clients) {
  const std::size_t bytes = sizeof(Shared) + sizeof(Figures) * static_cast<std::size_t>(clients);
  auto* const shared = static_cast<Shared*>(
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  pthread_barrierattr_t how;
  pthread_barrierattr_init(&how);
  pthread_barrierattr_setpshared(&how, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(&shared->all, &how, static_cast<unsigned>(clients));
  return shared;
}

int run(const Size& size) {
  const std::string session = "scale-" + std::to_string(getpid());
  const fs::path folder = fs::temp_directory_path() / session;
  fs::create_directory(folder);
  fs::current_path(folder);  // the ledger of the run is written here
  const std::string config = folder / "scale.xml";
  write_config(config, size);
  Shared* const shared = make_shared(size.clients);
  const bool well = fork_clients(
      size.clients, [&](int rank) { return Client(size, rank, shared).run(config, session); });
  fs::remove_all(folder);
  if (well) std::puts(as_json(size, *shared).dump().c_str());
  return well ? 0 : 1;
}

}  // namespace
}  // namespace leat::bench

int main(int count, char** arguments) {
  if (count == 3) return leat::bench::run({std::atoi(arguments[1]), std::atoi(arguments[2])});
  std::fputs("usage: leat_scale_bench CLIENTS VARIABLES\n", stderr);
  return 2;
}

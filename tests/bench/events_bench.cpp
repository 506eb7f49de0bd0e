// SPDX-License-Identifier: Apache-2.0
// What the event loop of leatd costs for each block, from few ranks and variables to many: CPU time
// of its thread, from a block's event to the return of its memory. The server is moved step by
// step, and clients are as much of the library as makes events; no processes, no waits.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "lib/model/reader.hpp"
#include "lib/model/xml/schema.hpp"
#include "lib/os/clock.hpp"
#include "lib/shm/leases.hpp"
#include "server/driver/executors.hpp"
#include "server/engine/engine.hpp"
#include "server/state/clients/catalogue_writer.hpp"
#include "tests/support/quiet_host.hpp"

namespace leat::server {
namespace {

/// An engine with all its clients, and no loop around it.
class DrivenEngine {
 public:
  DrivenEngine(const model::Model& model, const shm::Segment& segment, const leat_plugin* plugin,
               std::int32_t ranks)
      : facts_{"bench", ranks, ranks}, view_(model, facts_) {
    const auto log = std::make_shared<tests::QuietLog>();
    EngineParts parts{model, segment, facts_, host_, log, executor_, "."};
    parts.plugins.push_back(std::make_unique<PluginInstance>(plugin, model, 0, view_, log));
    parts.has_memory = true;
    engine_ = std::make_unique<Engine>(std::move(parts));
    engine_->start();
    for (std::int32_t i = 0; i < ranks; ++i) {
      engine_->hello(os::now_ns(), tests::hello_of(i, ranks),
                     std::make_unique<tests::QuietConnection>());
    }
  }

  void step() {
    (void)engine_->has_work();
    engine_->step(os::now_ns());
  }
  bool is_idle() { return !engine_->is_storing() && !engine_->has_work(); }

 private:
  RunFacts facts_;
  PluginView view_;
  tests::QuietHost host_;
  ThreadExecutor executor_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace
}  // namespace leat::server

namespace leat::bench {
namespace {

using shm::Event;
using shm::EventKind;

constexpr std::uint64_t kDataBytes = sizeof(double);
constexpr double kMostNs = 1000;

// What of the client library makes events.
class Client {
 public:
  Client(const shm::Segment& segment, std::uint32_t index)
      : segment_(segment),
        area_(segment.client(index)),
        leases_(segment),
        events_(area_.events, segment.header().event_slots, area_.client->event_tail,
                area_.server->event_head),
        releases_(area_.releases, segment.header().release_slots, area_.server->release_tail,
                  area_.client->release_head),
        arena_(segment.header().region_bytes) {}

  /// Until all variables are written and the iteration is ended: true. False: the server must move.
  bool go_on(std::uint32_t variables) {
    while (next_ < variables && write(next_)) ++next_;
    if (next_ < variables || !push(event_of(EventKind::end_iteration))) return false;
    next_ = 0;
    ++iteration_;
    return true;
  }

 private:
  Event event_of(EventKind kind) const {
    Event event{};
    event.kind = static_cast<std::uint32_t>(kind);
    event.iteration = iteration_;
    return event;
  }
  bool push(const Event& event) { return events_.push(event); }

  bool write(std::uint32_t variable) {
    if (events_.full()) return false;
    const std::uint64_t offset = arena_.cut(shm::RegionArena::block_bytes(kDataBytes));
    if (offset == 0) return get_memory() && write(variable);
    auto& header = *segment_.at<shm::BlockHeader>(offset);
    header = {};
    header.variable = variable;
    header.data_bytes = kDataBytes;
    header.iteration = iteration_;
    Event event = event_of(EventKind::block);
    event.subject = variable;
    event.offset = offset;
    event.bytes = sizeof header + kDataBytes;
    return push(event);
  }

  // True: cutting is worth another try.
  bool get_memory() {
    const bool had_none = arena_.current().bytes == 0;
    shm::Release release;
    while (releases_.pop(release)) {
      if (release.kind == static_cast<std::uint32_t>(shm::ReleaseKind::lease))
        arena_.add({release.offset, release.bytes});
      asked_ = false;
    }
    releases_.publish();
    if (had_none && arena_.current().bytes != 0) return true;
    shm::Seal full;
    if (arena_.replace(&full)) {
      Event seal = event_of(EventKind::seal);
      seal.offset = full.offset;
      seal.bytes = full.blocks;
      seal.token = leases_.id_at(full.offset);
      return push(seal) && !events_.full();
    }
    Event request = event_of(EventKind::lease_request);
    request.bytes = segment_.header().region_bytes;
    asked_ = asked_ || push(request);
    return false;
  }

  const shm::Segment& segment_;
  shm::ClientArea area_;
  shm::LeaseTable leases_;
  shm::RingProducer<Event> events_;
  shm::RingConsumer<shm::Release> releases_;
  shm::RegionArena arena_;
  std::uint32_t next_ = 0;
  std::int64_t iteration_ = 0;
  bool asked_ = false;
};

model::Model model_with(std::uint32_t variables) {
  std::string xml =
      "<simulation name=\"bench\"><architecture><dedicated cores=\"1\"/><buffer size=\"1MiB\"/>"
      "</architecture><data><layout name=\"s\" type=\"double\" dimensions=\"\"/>";
  for (std::uint32_t i = 0; i < variables; ++i)
    xml += "<variable name=\"v" + std::to_string(i) + "\" layout=\"s\"/>";
  xml += "</data><storage><store name=\"discard\" type=\"trace\"/></storage></simulation>";
  const model::ReadResult read = model::read_text(xml, "bench.xml", model::Schema());
  if (!read.model) {
    std::fputs(model::format(read.diagnostics).c_str(), stderr);
    std::exit(2);
  }
  return *read.model;
}

shm::Segment segment_for(const model::Model& model, std::uint32_t ranks) {
  shm::SegmentPlan plan;
  plan.clients = ranks;
  plan.data_bytes = std::max<std::uint64_t>(
      std::uint64_t{64} << 20, 3 * std::uint64_t{ranks} * model.variables.size() * 256);
  plan.data_bytes = (plan.data_bytes + (1 << 20)) >> 20 << 20;
  plan.timeout_ns = 1'000'000'000;
  plan.catalogue_bytes = server::catalogue_bytes(model);
  plan.stores = 1;
  const std::string name = "leat-bench-" + std::to_string(getpid());
  Result<shm::Segment> made = shm::Segment::create(name, plan);
  if (!made) {
    std::fprintf(stderr, "%s\n", made.error().message.c_str());
    std::exit(2);
  }
  shm::Segment::remove(name);
  server::write_catalogue(model, *made);
  return std::move(*made);
}

int open_store(const leat_run*, const leat_host*, void**) { return 0; }
int take_iteration(void*, const leat_iteration_data*) { return 0; }
int close_store(void*) { return 0; }
const leat_plugin kDiscard{LEAT_PLUGIN_ABI, sizeof(leat_plugin),
                           "discard",       open_store,
                           take_iteration,  close_store,
                           nullptr,         nullptr,
                           nullptr,         nullptr,
                           nullptr,         nullptr,
                           nullptr,         nullptr};

std::int64_t cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

// CPU time of the server per block, the best of some iterations: others use this machine too.
double measure(std::uint32_t ranks, std::uint32_t variables) {
  const model::Model model = model_with(variables);
  const shm::Segment segment = segment_for(model, ranks);
  server::DrivenEngine server(model, segment, &kDiscard, static_cast<std::int32_t>(ranks));
  std::vector<Client> clients;
  for (std::uint32_t i = 0; i < ranks; ++i) clients.emplace_back(segment, i);
  const std::uint64_t blocks = std::uint64_t{ranks} * variables;
  const int batch = static_cast<int>(std::max<std::uint64_t>(1, 2000 / blocks));
  double best = 1e9;
  for (int round = 0; round < 8; ++round) {
    std::int64_t spent = 0;
    const auto step = [&] {
      const std::int64_t before = cpu_ns();
      server.step();
      spent += cpu_ns() - before;
    };
    for (int i = 0; i < batch; ++i) {
      for (Client& client : clients) {
        while (!client.go_on(variables)) step();
      }
    }
    for (step(); !server.is_idle(); step())
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    best = std::min(best, static_cast<double>(spent) / static_cast<double>(blocks * batch));
  }
  return best;
}

}  // namespace
}  // namespace leat::bench

int main(int argc, char** argv) {
  constexpr std::pair<std::uint32_t, std::uint32_t> kRuns[] = {
      {1, 10}, {1, 1000}, {4, 10}, {4, 200}, {64, 200}, {128, 10}, {128, 200}, {128, 1000}};
  nlohmann::json rows = nlohmann::json::array();
  std::printf("event loop of leatd, CPU time per block\n%8s %10s %10s\n", "ranks", "variables",
              "ns");
  for (const auto& [ranks, variables] : kRuns) {
    const double ns = leat::bench::measure(ranks, variables);
    std::printf("%8u %10u %10.0f%s\n", ranks, variables, ns,
                ns <= leat::bench::kMostNs ? "" : "  MORE THAN 1 us");
    std::fflush(stdout);
    rows.push_back({{"ranks", ranks}, {"variables", variables}, {"ns_per_block", ns}});
  }
  if (argc > 1) std::ofstream(argv[1]) << rows.dump(1) << '\n';
  return 0;
}

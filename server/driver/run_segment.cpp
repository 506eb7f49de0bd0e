// SPDX-License-Identifier: Apache-2.0
#include "server/driver/run_segment.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "lib/base/text.hpp"
#include "lib/os/memory.hpp"
#include "lib/os/numa_binding.hpp"
#include "lib/os/process.hpp"
#include "server/engine/failover.hpp"
#include "server/state/journal/names.hpp"

namespace leat::server {
namespace {

// As ranks have theirs: all write about the same.
std::uint64_t share_of_bytes(std::uint64_t whole, const Options& options) {
  const auto all = static_cast<std::uint64_t>(options.node_ranks);
  const auto ranks = static_cast<std::uint64_t>(ranks_of(options).count);
  return whole / all * ranks + whole % all * ranks / all;
}

}  // namespace

std::string own_session(const Options& options) {
  return node::session_of_server(options.session, options.server);
}

node::Share ranks_of(const Options& options) {
  return node::share_of(options.node_ranks, options.server, options.servers);
}

Result<void> take_share(model::Model* model, Options* options) {
  model::Architecture& architecture = model->architecture;
  options->servers = static_cast<int>(architecture.servers);
  if (options->servers > options->node_ranks) {
    return Error{Status::ERROR_CONFIG,
                 "<dedicated servers=\"" + std::to_string(options->servers) + "\">: node " +
                     os::node_name() + " has only " +
                     counted(static_cast<std::uint64_t>(options->node_ranks), "rank") +
                     " of the simulation, and each server has ranks to serve: start more there, "
                     "or have fewer servers"};
  }
  if (options->server >= options->servers) {
    return Error{Status::ERROR_CONFIG, "<dedicated servers=\"" + std::to_string(options->servers) +
                                           "\">: the XML has changed since the run began, there "
                                           "is no server " +
                                           std::to_string(options->server)};
  }
  options->cores = static_cast<int>(architecture.dedicated_cores);
  architecture.dedicated_cores =
      node::share_of(options->cores, options->server, options->servers).count;
  architecture.buffer_bytes = share_of_bytes(architecture.buffer_bytes, *options);
  architecture.spill_bytes = share_of_bytes(architecture.spill_bytes, *options);
  if (options->server > 0 && !model->log.file.empty())
    model->log.file = with_addition(model->log.file, std::to_string(options->server));
  return {};
}

namespace {

constexpr int kNice = 10;  // of a server that drains

void bind_to_node(void* address, std::size_t bytes, void* memory_node) {
  os::prefer_memory_node(address, bytes, *static_cast<int*>(memory_node));
}

std::uint32_t clients_of(const shm::RunText& run) {
  return static_cast<std::uint32_t>(node::share_of(run.node_ranks, run.server, run.servers).count);
}

shm::RunText run_text(const model::Model& model, const Options& options) {
  shm::RunText run{options.session,
                   os::current_folder(),
                   options.ranks,
                   options.node_ranks,
                   options.server,
                   options.servers,
                   {{options.config, model.source_text}},
                   {}};
  run.sources.insert(run.sources.end(), model.included.begin(), model.included.end());
  for (char** each = environ; *each; ++each) run.environment.emplace_back(*each);
  return run;
}

// Taken in the background, it would be the end of some process in the midst of the run.
Result<void> check_group(std::uint64_t buffer) {
  const std::uint64_t room = os::memory_room();
  if (buffer <= room) return {};
  return Error{Status::ERROR_MEMORY,
               "the buffer needs " + format_bytes(buffer) +
                   " of memory, but the control group of this job (container, batch system) has " +
                   format_bytes(room) +
                   " left: make <buffer size=\"...\"/> smaller, or the group's limit larger"};
}

shm::Synchronous synchronous(const model::Model& model) {
  const bool waits_for_any =
      std::any_of(model.stores.begin(), model.stores.end(),
                  [](const model::Store& store) { return store.runs == model::Schedule::sync; });
  if (waits_for_any || model.architecture.mode == model::EndMode::sync)
    return shm::Synchronous::yes;
  return model.architecture.mode == model::EndMode::automatic ? shm::Synchronous::unless_overlaps
                                                              : shm::Synchronous::no;
}

Result<shm::Segment> make_segment(const model::Model& model, const Options& options,
                                  const std::string& name, int memory_node, bool traced,
                                  const RestartFacts& restart) {
  if (const Result<void> may = check_group(model.architecture.buffer_bytes); !may)
    return may.error();
  shm::SegmentPlan plan;
  plan.clients = static_cast<std::uint32_t>(ranks_of(options).count);
  plan.data_bytes = model.architecture.buffer_bytes;
  plan.timeout_ns = static_cast<std::uint64_t>(model.architecture.timeout_seconds * 1e9);
  plan.catalogue_bytes = catalogue_bytes(model, restart);
  plan.overflow_policy = static_cast<shm::OverflowPolicy>(model.architecture.overflow_policy);
  plan.undeclared = static_cast<shm::UndeclaredArrays>(model.data.undeclared);
  plan.synchronous = synchronous(model);
  plan.parameters = static_cast<std::uint32_t>(model.parameters.size());
  plan.stores = static_cast<std::uint32_t>(model.stores.size());
  plan.config_hash = fnv1a(model.source_text);
  plan.checksums = model.architecture.checksum == model::Checksum::crc32c;
  plan.traced = traced;
  plan.run_text = shm::encode(run_text(model, options));
  Result<shm::Segment> segment = shm::Segment::create(name, plan, bind_to_node, &memory_node);
  if (segment) write_catalogue(model, *segment, restart);
  return segment;
}

}  // namespace

Result<shm::Segment> make_segment_in_time(const model::Model& model, const Options& options,
                                          const std::string& name, int memory_node, Drains& drains,
                                          bool traced, const RestartFacts& restart) {
  Result<shm::Segment> segment = make_segment(model, options, name, memory_node, traced, restart);
  if (segment || segment.error().status != Status::ERROR_MEMORY || !drains.any()) return segment;
  drains.start();
  drains.await_all();
  return make_segment(model, options, name, memory_node, traced, restart);
}

Result<Inherited> take_segment(LiveSession* live, const Options& options) {
  Result<shm::Segment> segment =
      options.drain.empty() ? shm::Segment::attach(live->segment())
                            : shm::Segment::attach(live->segment(), live->take_drain_lock());
  if (!segment) return segment.error();
  std::optional<shm::RunText> run = shm::decode_run_text(segment->run_text());
  const shm::SegmentHeader& header = segment->header();
  if (!run || run->node_ranks != options.node_ranks || header.client_count != clients_of(*run) ||
      header.config_hash != fnv1a(run->sources.front().second)) {
    return Error{Status::ERROR_SERVER, "the segment " + live->segment() +
                                           " is damaged, or of a run with another number of ranks"};
  }
  if (options.drain.empty()) {
    if (const Result<void> may = Failover::may_take_over(*segment); !may) return may.error();
  }
  return Inherited{std::move(*segment), std::move(*run)};
}

Result<void> take_options_of_dead_run(Options* options) {
  const Result<shm::Segment> segment = shm::Segment::look(options->drain);
  if (!segment) return segment.error();
  const std::optional<shm::RunText> run = shm::decode_run_text(segment->run_text());
  if (!run) return Error{Status::ERROR_SERVER, "the segment " + options->drain + " is damaged"};
  clearenv();
  for (const std::string& each : run->environment) {
    const std::size_t equals = each.find('=');
    if (equals != std::string::npos)
      setenv(each.substr(0, equals).c_str(), each.substr(equals + 1).c_str(), 1);
  }
  options->config = run->sources.front().first;
  options->session = run->session;
  options->folder = run->folder;
  options->ranks = run->ranks;
  options->node_ranks = run->node_ranks;
  options->server = run->server;
  const int ignored = nice(kNice);  // others compute here
  (void)ignored;
  return {};
}

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/driven_server.hpp"

#include <spdlog/sinks/null_sink.h>
#include <unistd.h>

#include <thread>

#include "lib/model/reader.hpp"
#include "lib/model/schema.hpp"
#include "server/session/catalogue_writer.hpp"
#include "tests/fuzz/target.hpp"

namespace leat::server {
namespace {

using fuzz::promise;

constexpr char kXml[] = R"(<simulation name="fuzz">
  <architecture><dedicated cores="1"/><buffer size="1MiB" timeout="1s"/></architecture>
  <data>
    <parameter name="n" type="int" value="8"/>
    <parameter name="unset" type="int"/>
    <parameter name="dt" type="double" value="0.5"/>
    <parameter name="title" type="string"/>
    <layout name="scalar" type="double" dimensions=""/>
    <layout name="row" type="int" dimensions="n"/>
    <layout name="particles" type="float" dimensions="?,3"/>
    <layout name="grid" type="double" dimensions="n+2,n" global="4*n,unset" ghosts="1,0"/>
    <variable name="s" layout="scalar"/>
    <variable name="row" layout="row"/>
    <variable name="p" layout="particles"/>
    <variable name="g" layout="grid"/>
  </data>
  <storage><store name="check" type="trace"/></storage>
</simulation>
)";

model::Model model_of(const model::WhenFull when_full) {
  const model::ReadResult read = model::read_text(kXml, "fuzz.xml", model::Schema());
  promise(read.model.has_value(), model::format(read.diagnostics).c_str());
  model::Model model = *read.model;
  model.architecture.when_full = when_full;
  return model;
}

const model::Model& run_model(model::WhenFull when_full = model::WhenFull::wait) {
  static const model::Model waits = model_of(model::WhenFull::wait);
  static const model::Model drops = model_of(model::WhenFull::drop_iteration);
  static const model::Model fails = model_of(model::WhenFull::error);
  if (when_full == model::WhenFull::drop_iteration) return drops;
  return when_full == model::WhenFull::error ? fails : waits;
}

const shm::Segment& run_segment() {
  static const shm::Segment segment = [] {
    shm::SegmentPlan plan;
    plan.clients = DrivenServer::kClients;
    plan.data_bytes = 1 << 18;
    plan.timeout_ns = 1'000'000'000;
    plan.catalogue_bytes = catalogue_bytes(run_model());
    plan.parameters = static_cast<std::uint32_t>(run_model().parameters.size());
    plan.stores = static_cast<std::uint32_t>(run_model().stores.size());
    plan.event_slots = 32;
    plan.release_slots = 8;
    const std::string name = "leat-fuzz-" + std::to_string(getpid());
    Result<shm::Segment> made = shm::Segment::create(name, plan);
    promise(static_cast<bool>(made), made ? "" : made.error().message.c_str());
    shm::Segment::remove(name);
    write_catalogue(run_model(), *made);
    return std::move(*made);
  }();
  return segment;
}

// ---- the plugin ----

const leat_run* checked_run = nullptr;
std::uint64_t checked_sum = 0;

void check_block(const leat_block& block) {
  const shm::SegmentHeader& header = run_segment().header();
  const char* data = static_cast<const char*>(block.data);
  const char* begin = run_segment().at<char>(header.data_offset);
  const char* end = begin + header.data_bytes;
  promise(data >= begin && data <= end && block.bytes <= static_cast<std::uint64_t>(end - data),
          "a block lies in the data of the segment");
  promise(block.variable < checked_run->variable_count, "a block is of a variable");
  const leat_variable& variable = *leat_variable_at(checked_run, block.variable);
  std::uint64_t bytes = scalar_bytes(static_cast<ScalarType>(variable.type));
  bool empty = false;
  for (std::uint32_t d = 0; d < variable.dims; ++d) {
    promise(block.extent[d] >= 0, "no extent is negative");
    bytes *= static_cast<std::uint64_t>(block.extent[d]);
    empty = empty ||
            block.extent[d] <= variable.dimension[d].ghost_low + variable.dimension[d].ghost_high;
  }
  promise(bytes == block.bytes, "a block is as large as its extents say");
  for (std::uint32_t d = 0; variable.has_global && !empty && d < variable.dims; ++d) {
    const std::int64_t own =
        block.extent[d] - variable.dimension[d].ghost_low - variable.dimension[d].ghost_high;
    promise(block.position[d] >= 0 && block.position[d] <= block.global[d] - own,
            "a block lies inside of the global array");
  }
  for (std::uint64_t i = 0; i < block.bytes; ++i)
    checked_sum += static_cast<unsigned char>(data[i]);
}

int open(const leat_run* run, const leat_host*, void**) {
  checked_run = run;
  return 0;
}

int iteration(void*, const leat_iteration_data* data) {
  for (std::uint64_t i = 0; i < data->block_count; ++i) check_block(*leat_block_at(data, i));
  return 0;
}

int close(void*) { return 0; }

const leat_plugin kPlugin{LEAT_PLUGIN_ABI, sizeof(leat_plugin), "check", open, iteration, close,
                          nullptr};

}  // namespace

DrivenServer::DrivenServer(model::WhenFull when_full)
    : facts_{"fuzz", kClients, kClients}, when_full_(when_full) {
  const shm::Segment& segment = run_segment();
  const shm::SegmentHeader& header = segment.header();
  std::memset(segment.at<char>(header.leases_offset), 0,
              header.segment_bytes - header.leases_offset);
  segment.server_words().done_iteration = -1;
  segment.server_words().fruitless = 0;
  for (shm::StoreWords& store : segment.stores()) {
    store.done = store.begun = -1;
    store.tries = store.crashes = 0;
  }
  make_server();
  for (std::uint32_t i = 0; i < kClients; ++i) {
    shm::Hello hello{};
    hello.rank = hello.node_rank = static_cast<std::int32_t>(i);
    server_->clients_[i].attach(hello, {});
    server_->clients_[i].save(0);
  }
}

void DrivenServer::make_server() {
  static const auto log =
      std::make_shared<spdlog::logger>("fuzz", std::make_shared<spdlog::sinks::null_sink_mt>());
  view_ = std::make_unique<PluginView>(run_model(when_full_), facts_);
  ServerParts parts{
      run_model(when_full_), run_segment(), facts_, "/no-such-folder/socket", "", {}, {}, {}, log};
  parts.plugins.push_back(std::make_unique<PluginInstance>(&kPlugin, run_model(), 0, *view_, log));
  server_ = std::make_unique<Server>(std::move(parts));
  server_->pipeline_.start();
}

void DrivenServer::die_and_be_followed() {
  server_.reset();
  facts_.resumed = true;
  make_server();
}

void DrivenServer::come_back(std::uint32_t client, std::uint64_t current_extent,
                             std::uint64_t spare_extent) {
  if (server_->clients_[client].is_gone()) return;
  shm::Hello hello{};
  hello.rank = hello.node_rank = static_cast<std::int32_t>(client);
  hello.resumed = 1;
  hello.current_extent = current_extent;
  hello.spare_extent = spare_extent;
  server_->come_back(hello, {});
}

DrivenServer::~DrivenServer() = default;

std::size_t DrivenServer::variables() const { return run_model().variables.size(); }

void DrivenServer::step() {
  server_->somebody_speaks();
  server_->take_all_events();
  server_->take_results();
  server_->pass_on_complete();
}

void DrivenServer::hang_up(std::uint32_t client) {
  server_->client_hung_up(server_->clients_[client]);
}

void DrivenServer::steer(const std::string& parameter, const Steering::Value& value) {
  server_->steering_.set(parameter, value, "fuzz");
  server_->steer();
}

void DrivenServer::end_in_parameter_log(std::int64_t iteration) {
  server_->parameters_.iteration_ended(iteration);
  server_->parameters_.at(iteration);
  server_->parameters_.forget(iteration);
}

// Until all that was passed on has come back.
void DrivenServer::settle() {
  while (!server_->held_.empty() || server_->pipeline_.is_busy()) {
    server_->take_results();
    server_->pass_on_complete();
    std::this_thread::yield();
  }
}

void DrivenServer::drain() {
  for (std::uint32_t i = 0; i < kClients; ++i) hang_up(i);
  step();
  settle();
  promise(server_->all_gone(), "all clients are gone");
  promise(server_->iterations_.empty(), "no iteration is left open");
  promise(server_->leases_.used_bytes() == 0, "all memory comes back");
  promise(!server_->leases_.somebody_waits(), "nobody waits who is gone");
  server_->close_when_drained();
  promise(server_->closing_, "the server ends when all are gone");
}

}  // namespace leat::server

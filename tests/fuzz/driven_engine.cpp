// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/driven_engine.hpp"

#include <unistd.h>

#include <thread>

#include "lib/model/reader.hpp"
#include "lib/model/xml/schema.hpp"
#include "server/state/clients/catalogue_writer.hpp"
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
    <mesh name="gas" type="amr" levels="3" ratio="2" origin="0,0" spacing="1,1"/>
    <layout name="patch" type="double" dimensions="4,4"/>
    <layout name="piece" type="int" dimensions="?,?"/>
    <variable name="s" layout="scalar"/>
    <variable name="row" layout="row"/>
    <variable name="p" layout="particles"/>
    <variable name="g" layout="grid"/>
    <variable name="patch" layout="patch" mesh="gas"/>
    <variable name="piece" layout="piece" mesh="gas"/>
  </data>
  <storage><store name="check" type="trace"/></storage>
  <actions><event name="each" plugin="check"/><event name="all" plugin="check" scope="node"/></actions>
</simulation>
)";

model::Model model_of(const model::OverflowPolicy overflow_policy) {
  const model::ReadResult read = model::read_text(kXml, "fuzz.xml", model::Schema());
  promise(read.model.has_value(), model::format(read.diagnostics).c_str());
  model::Model model = *read.model;
  model.architecture.overflow_policy = overflow_policy;
  return model;
}

const model::Model& run_model(model::OverflowPolicy overflow_policy = model::OverflowPolicy::wait) {
  static const model::Model waits = model_of(model::OverflowPolicy::wait);
  static const model::Model drops = model_of(model::OverflowPolicy::drop_iteration);
  static const model::Model fails = model_of(model::OverflowPolicy::error);
  if (overflow_policy == model::OverflowPolicy::drop_iteration) return drops;
  return overflow_policy == model::OverflowPolicy::error ? fails : waits;
}

const shm::Segment& run_segment() {
  static const shm::Segment segment = [] {
    shm::SegmentPlan plan;
    plan.clients = DrivenEngine::kClients;
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

void check_level(const leat_block& block, const leat_variable& variable) {
  const leat_mesh* const mesh = leat_variable_mesh(checked_run, &variable);
  promise((leat_block_has_level(&block) != 0) == (mesh != nullptr),
          "blocks of an amr mesh have a level, others none");
  if (!mesh) return;
  promise(block.level >= 0 && block.level < mesh->levels, "a level is one of its mesh");
  promise(block.has_position == 0, "a patch has no place in a global array");
  for (std::uint32_t d = 0; d < variable.dims; ++d) {
    promise(block.position[d] >= -shm::kFurthest && block.position[d] <= shm::kFurthest,
            "sums of first cells and extents are numbers");
  }
}

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
  check_level(block, variable);
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

int on_signal(void*, const char* event, std::int32_t rank, std::int64_t iteration, const char*) {
  const bool is_of_all = std::strcmp(event, "all") == 0;
  promise(is_of_all || std::strcmp(event, "each") == 0, "an event is one of the XML");
  promise(is_of_all ? rank == -1 : rank >= -1, "an event is of a rank, or of all");
  promise(iteration >= 0, "an event happens in an iteration");
  return 0;
}

const leat_plugin kPlugin{LEAT_PLUGIN_ABI, sizeof(leat_plugin),
                          "check",         open,
                          iteration,       close,
                          nullptr,         on_signal,
                          nullptr,         nullptr,
                          nullptr,         nullptr,
                          nullptr,         nullptr};

}  // namespace

DrivenEngine::DrivenEngine(model::OverflowPolicy overflow_policy)
    : facts_{"fuzz", kClients, kClients}, when_full_(overflow_policy), log_(run_model()) {
  const shm::Segment& segment = run_segment();
  const shm::SegmentHeader& header = segment.header();
  std::memset(segment.at<char>(header.leases_offset), 0,
              header.segment_bytes - header.leases_offset);
  segment.server_state().done_iteration = -1;
  segment.server_state().fruitless = 0;
  for (shm::StoreWords& store : segment.stores()) {
    store.done = store.begun = -1;
    store.tries = store.crashes = 0;
    for (auto& each : store.skipped) each = 0;
  }
  make_engine();
  for (std::uint32_t i = 0; i < kClients; ++i) attach(i, hello_of(i));
}

shm::Hello DrivenEngine::hello_of(std::uint32_t client) {
  return tests::hello_of(static_cast<std::int32_t>(client), kClients);
}

void DrivenEngine::attach(std::uint32_t client, const shm::Hello& hello) {
  hung_up_[client] = false;
  engine_->hello(now_ns_, hello, std::make_unique<tests::QuietConnection>(&hung_up_[client]));
}

void DrivenEngine::make_engine() {
  static const auto log = std::make_shared<tests::QuietLog>();
  view_ = std::make_unique<PluginView>(run_model(when_full_), facts_);
  EngineParts parts{run_model(when_full_), run_segment(), facts_, host_, log, executor_, "."};
  parts.plugins.push_back(std::make_unique<PluginInstance>(&kPlugin, run_model(), 0, *view_, log));
  parts.has_memory = true;
  engine_ = std::make_unique<Engine>(std::move(parts));
  engine_->start();
}

void DrivenEngine::die_and_be_followed() {
  engine_.reset();
  facts_.resumed = true;
  make_engine();
}

void DrivenEngine::come_back(std::uint32_t client, std::uint64_t current_region,
                             std::uint64_t spare_region) {
  shm::Hello hello = hello_of(client);
  hello.resumed = 1;
  hello.current_region = current_region;
  hello.spare_region = spare_region;
  run_segment().name().copy(hello.segment, sizeof hello.segment - 1);
  attach(client, hello);
}

DrivenEngine::~DrivenEngine() = default;

const shm::Segment& DrivenEngine::segment() { return run_segment(); }

void DrivenEngine::step() {
  (void)engine_->has_work();
  engine_->step(now_ns_);
}

void DrivenEngine::hang_up(std::uint32_t client) {
  hung_up_[client] = true;
  engine_->message(now_ns_, client);
}

void DrivenEngine::steer(const std::string& parameter, const Steering::Value& value) {
  engine_->control().steer({"fuzz", parameter, value});
  step();
}

void DrivenEngine::end_in_parameter_log(std::int64_t iteration) {
  log_.apply(IterationEnded{iteration});
  log_.at(iteration);
  log_.forget(iteration);
}

// Until all that was passed on has come back.
void DrivenEngine::settle() {
  while (engine_->status().anything_held) {
    step();
    std::this_thread::yield();
  }
}

void DrivenEngine::drain() {
  engine_->drain(now_ns_, "the fuzzer");
  now_ns_ += kLongNs;
  step();
  settle();
  step();
  const EngineStatus status = engine_->status();
  promise(status.all_gone, "all clients are gone");
  promise(!status.anything_open, "no iteration is left open");
  promise(status.used_bytes == 0, "all memory comes back");
  promise(!engine_->somebody_waits(), "nobody waits who is gone");
  promise(engine_->is_closing(), "the server ends when all are gone");
}

}  // namespace leat::server

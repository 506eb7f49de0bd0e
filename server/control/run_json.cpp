// SPDX-License-Identifier: Apache-2.0
#include "server/control/run_json.hpp"

#include <algorithm>

#include "lib/base/scalar.hpp"

namespace leat::control {
namespace {

const char* name_of(shm::OverflowPolicy what) {
  switch (what) {
    case shm::OverflowPolicy::wait:
      return "wait";
    case shm::OverflowPolicy::drop_iteration:
      return "drop-iteration";
    case shm::OverflowPolicy::spill:
      return "spill";
    case shm::OverflowPolicy::error:
      return "error";
  }
  return "unknown";
}

const char* name_of(shm::ClientPhase phase) {
  switch (phase) {
    case shm::ClientPhase::absent:
      return "absent";
    case shm::ClientPhase::attached:
      return "attached";
    case shm::ClientPhase::finalized:
      return "finalized";
    case shm::ClientPhase::dead:
      return "dead";
  }
  return "unknown";
}

const char* name_of(model::Parameter::Kind kind) {
  switch (kind) {
    case model::Parameter::Kind::integer:
      return "int";
    case model::Parameter::Kind::real:
      return "double";
    case model::Parameter::Kind::text:
      return "string";
  }
  return "unknown";
}

const char* name_of(model::Mesh::Kind kind) {
  switch (kind) {
    case model::Mesh::Kind::uniform:
      return "uniform";
    case model::Mesh::Kind::rectilinear:
      return "rectilinear";
    case model::Mesh::Kind::curvilinear:
      return "curvilinear";
    case model::Mesh::Kind::unstructured:
      return "unstructured";
    case model::Mesh::Kind::points:
      return "points";
  }
  return "unknown";
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json done(std::int64_t iteration) { return iteration < 0 ? Json(nullptr) : Json(iteration); }

Json json_of_buffer(const shm::Segment& segment) {
  const shm::SegmentHeader& header = segment.header();
  std::uint64_t leased = 0;
  for (const shm::LeaseRecord& record : segment.leases())
    if (record.id.load() != 0) leased += std::min(record.bytes, header.data_bytes);
  return {{"bytes", header.data_bytes},
          {"leased_bytes", std::min(leased, header.data_bytes)},
          {"when_full", name_of(static_cast<shm::OverflowPolicy>(header.overflow_policy))},
          {"timeout_seconds", static_cast<double>(header.timeout_ns) / 1e9},
          {"checksums", header.checksums != 0}};
}

Json json_of_client(const shm::Segment& segment, std::uint32_t index) {
  const shm::ClientArea area = segment.client(index);
  const shm::ClientRecord record = area.server->records[area.server->record.load() & 1];
  const auto phase = static_cast<shm::ClientPhase>(record.phase);
  const std::uint64_t waiting = area.client->event_tail.load() - area.server->event_head.load();
  return {{"rank", phase == shm::ClientPhase::absent ? Json(nullptr) : Json(record.rank)},
          {"phase", name_of(phase)},
          {"iteration", record.iteration},
          {"events_waiting", std::min<std::uint64_t>(waiting, segment.header().event_slots)}};
}

Json json_of_stores(const shm::Segment& segment, const model::Model* model) {
  Json stores = Json::array();
  for (const shm::StoreWords& words : segment.stores()) {
    const std::size_t i = stores.size();
    const model::Store* store = model && i < model->stores.size() ? &model->stores[i] : nullptr;
    const std::string plugin = !store ? "" : store->type.empty() ? store->library : store->type;
    stores.push_back({{"name", store ? store->name : "store " + std::to_string(i + 1)},
                      {"plugin", text_or_null(plugin)},
                      {"every", store ? Json(store->every) : Json(nullptr)},
                      {"done", done(words.done.load())},
                      {"begun", done(words.begun.load())}});
  }
  return stores;
}

Json json_of_parameters(const model::Model& model) {
  Json list = Json::array();
  for (const model::Parameter& each : model.parameters) {
    Json value;
    if (const auto* integer = std::get_if<std::int64_t>(&each.value)) value = *integer;
    if (const auto* real = std::get_if<double>(&each.value)) value = *real;
    if (const auto* text = std::get_if<std::string>(&each.value)) value = *text;
    list.push_back({{"name", each.name},
                    {"type", name_of(each.kind)},
                    {"value", value},
                    {"description", each.description}});
  }
  return list;
}

Json json_of_meshes(const model::Model& model) {
  Json list = Json::array();
  for (const model::Mesh& each : model.meshes)
    list.push_back(
        {{"name", each.name}, {"type", name_of(each.kind)}, {"description", each.description}});
  return list;
}

}  // namespace

Json json_of_segment(const shm::Segment& segment, const model::Model* model,
                     std::optional<std::int32_t> all_ranks) {
  Json clients = Json::array();
  std::uint64_t attached = 0;
  const std::uint32_t count = segment.header().client_count;
  for (std::uint32_t i = 0; i < count; ++i) {
    clients.push_back(json_of_client(segment, i));
    attached += clients.back()["phase"] == "attached";
  }
  return {{"simulation", model ? Json(model->name) : Json(nullptr)},
          {"takeovers", segment.server_state().failovers.load()},
          {"buffer", json_of_buffer(segment)},
          {"iteration_done", done(segment.server_state().done_iteration.load())},
          {"ranks",
           {{"node", count},
            {"all", all_ranks ? Json(*all_ranks) : Json(nullptr)},
            {"attached", attached}}},
          {"clients", std::move(clients)},
          {"stores", json_of_stores(segment, model)}};
}

Json json_of_variables(const model::Model& model) {
  Json list = Json::array();
  for (const model::Variable& each : model.variables) {
    const model::Layout& layout = model.layouts[each.layout];
    Json shape = Json::array(), names = Json::array();
    for (const model::Dimension& d : layout.dimensions) {
      shape.push_back(d.varying ? "?" : d.extent.text);
      names.push_back(d.name);
    }
    list.push_back({{"name", each.name},
                    {"type", scalar_name(layout.type)},
                    {"shape", std::move(shape)},
                    {"dimensions", std::move(names)},
                    {"unit", each.unit},
                    {"description", each.description}});
  }
  return list;
}

Json json_of_description(const model::Model& model) {
  Json stores = Json::array();
  for (const model::Store& each : model.stores)
    stores.push_back({{"name", each.name},
                      {"plugin", each.type.empty() ? each.library : each.type},
                      {"every", each.every}});
  return {{"simulation", model.name},
          {"description", model.description},
          {"variables", json_of_variables(model)},
          {"parameters", json_of_parameters(model)},
          {"meshes", json_of_meshes(model)},
          {"stores", std::move(stores)}};
}

}  // namespace leat::control

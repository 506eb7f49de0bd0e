// SPDX-License-Identifier: Apache-2.0
#include "lib/control/run_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/model/run_description.hpp"
#include "lib/model/words.hpp"

namespace leat::control {
namespace {

constexpr model::Word<shm::ClientPhase> kPhases[] = {{"absent", shm::ClientPhase::absent},
                                                     {"attached", shm::ClientPhase::attached},
                                                     {"finalized", shm::ClientPhase::finalized},
                                                     {"dead", shm::ClientPhase::dead},
                                                     {"cut off", shm::ClientPhase::cut_off}};

Json done(std::int64_t iteration) { return iteration < 0 ? Json(nullptr) : Json(iteration); }

Json json_of_buffer(const shm::Segment& segment) {
  const shm::SegmentHeader& header = segment.header();
  std::uint64_t leased = 0;
  for (const shm::LeaseRecord& record : segment.leases())
    if (record.id.load() != 0) leased += std::min(record.bytes, header.data_bytes);
  const char* const when_full =
      model::word_of(static_cast<model::OverflowPolicy>(header.overflow_policy));
  return {{"bytes", header.data_bytes},
          {"leased_bytes", std::min(leased, header.data_bytes)},
          {"when_full", when_full},
          {"timeout_seconds", static_cast<double>(header.timeout_ns) / 1e9},
          {"checksums", header.checksums != 0}};
}

Json json_of_client(const shm::Segment& segment, std::uint32_t index) {
  const shm::ClientArea area = segment.client(index);
  const shm::ClientRecord record = area.server->records[area.server->record.load() & 1];
  const auto phase = static_cast<shm::ClientPhase>(record.phase);
  const std::uint64_t waiting = area.client->event_tail.load() - area.server->event_head.load();
  return {{"rank", phase == shm::ClientPhase::absent ? Json(nullptr) : Json(record.rank)},
          {"phase", model::word_of(kPhases, phase)},
          {"iteration", record.iteration},
          {"events_waiting", std::min<std::uint64_t>(waiting, segment.header().event_slots)}};
}

Json json_of_stores(const shm::Segment& segment, const model::Model* model) {
  Json stores = Json::array();
  for (const shm::StoreWords& words : segment.stores()) {
    const std::size_t i = stores.size();
    Json store{{"name", "store " + std::to_string(i + 1)}, {"plugin", nullptr}, {"every", nullptr}};
    if (model && i < model->stores.size()) store = model::to_json(model->stores[i]);
    store["done"] = done(words.done.load());
    store["begun"] = done(words.begun.load());
    stores.push_back(std::move(store));
  }
  return stores;
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

}  // namespace leat::control

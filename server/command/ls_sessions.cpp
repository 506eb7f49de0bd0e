// SPDX-License-Identifier: Apache-2.0
#include "server/command/ls_sessions.hpp"

#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "lib/base/scalar.hpp"
#include "lib/model/reader.hpp"
#include "lib/platform/process_facts.hpp"
#include "lib/platform/runtime_folder.hpp"
#include "lib/platform/stale_resources.hpp"
#include "lib/shm/segment.hpp"
#include "lib/shm/undrained.hpp"
#include "server/command/drain.hpp"
#include "server/command/ls_ledger.hpp"

namespace leat::command {
namespace {

namespace fs = std::filesystem;

// What leatd hashes of the XML, to know whether it has been changed: FNV-1a.
std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

std::string value_of(const std::vector<std::string>& words, const std::string& option) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i - 1] == option) return words[i];
    if (words[i].starts_with(option + "=")) return words[i].substr(option.size() + 1);
  }
  return "";
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

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

// The server of a session that is there now; after a failover it is not the one that made the
// segment.
pid_t server_of(const platform::LiveOne& one) {
  if (one.server.pid != 0 && platform::lives(one.server)) return one.server.pid;
  for (const pid_t pid : platform::processes_called("leatd")) {
    if (value_of(platform::arguments_of(pid), "--session") == one.session) return pid;
  }
  return 0;
}

class SessionFacts {
 public:
  explicit SessionFacts(const platform::LiveOne& one) : one_(one), pid_(server_of(one)) {}
  /// One of which everything was killed.
  explicit SessionFacts(const platform::LiveOne& one, const KilledSession& killed)
      : one_(one), killed_(&killed) {}

  Json run() {
    const char* state = pid_ != 0 ? "running" : "waiting for its next server";
    facts_ = {{"session", one_.session},
              {"state", killed_                ? "killed"
                        : one_.segment.empty() ? "starting"
                                               : state},
              {"pid", pid_ == 0 ? Json(nullptr) : Json(pid_)},
              {"problem", ""}};
    of_process();
    if (!one_.segment.empty()) of_segment();
    if (pid_ == 0) of_start();
    return std::move(facts_);
  }

 private:
  void of_process() {
    const std::vector<std::string> words = platform::arguments_of(pid_);
    const std::string folder = pid_ == 0 ? "" : platform::working_folder_of(pid_);
    const std::string config = value_of(words, "--config");
    facts_["since"] = since();
    facts_["folder"] = text_or_null(folder);
    facts_["config"] = text_or_null(config.empty() ? "" : (fs::path(folder) / config).string());
    facts_["files"] = pid_ == 0 ? Json::array() : files();
    all_ranks_ = value_of(words, "--ranks");
  }

  Json since() const {
    if (one_.server.pid == 0) return nullptr;
    const std::time_t when = platform::time_of_start(one_.server);
    std::tm local{};
    char text[64];
    const bool known = localtime_r(&when, &local) != nullptr &&
                       std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S%z", &local) > 0;
    return known ? Json(text) : Json(nullptr);
  }

  // What it writes, without its own.
  Json files() const {
    Json list = Json::array();
    const std::string runtime = platform::runtime_folder_name();
    for (const std::string& path : platform::files_written_by(pid_)) {
      const fs::path file = path;
      const std::string name = file.filename().string();
      if (name[0] == '.' || path.starts_with("/dev/") || path.starts_with(runtime + "/")) continue;
      std::error_code error;
      const std::uintmax_t bytes = fs::file_size(file, error);
      list.push_back({{"file", path}, {"bytes", error ? 0 : bytes}});
    }
    return list;
  }

  void of_segment() {
    const Result<shm::Segment> segment =
        shm::Segment::look(fs::path(one_.segment).filename().string());
    if (!segment) {
      facts_["problem"] = segment.error().message;
      return;
    }
    const shm::SegmentHeader& header = segment->header();
    const model::ReadResult read = read_model(header.config_hash);
    const model::Model* model = read.model ? &*read.model : nullptr;
    facts_["simulation"] = model ? Json(model->name) : Json(nullptr);
    facts_["takeovers"] = segment->server_state().failovers.load();
    facts_["buffer"] = buffer(*segment);
    facts_["iteration_done"] = done(segment->server_state().done_iteration.load());
    add_ranks(*segment);
    add_stores(*segment, model);
    facts_["variables"] = model ? variables(*model) : Json(nullptr);
    facts_["ledger"] =
        model && facts_["folder"].is_string()
            ? ledger_of(facts_["folder"].get<std::string>(), model->name, one_.session)
            : Json(nullptr);
  }

  // The XML, when it still is what the run was started with.
  model::ReadResult read_model(std::uint64_t hash) const {
    if (killed_ && killed_->held.run) return model::read_sources(killed_->held.run->sources);
    if (!facts_["config"].is_string()) return {};
    model::ReadResult read = model::read_file(facts_["config"].get<std::string>());
    if (read.model && hash_of(read.model->source_text) != hash) read.model.reset();
    return read;
  }

  // What a process would tell, from the segment.
  void of_start() {
    const std::string name = fs::path(one_.segment).filename().string();
    const shm::Undrained held = killed_ ? killed_->held : shm::undrained_in(name);
    if (killed_) facts_["in_memory"] = in_memory(held);
    if (!held.run) return;
    facts_["folder"] = held.run->folder;
    facts_["config"] = (fs::path(held.run->folder) / held.run->sources.front().first).string();
    if (facts_.contains("ranks")) facts_["ranks"]["all"] = held.run->ranks;
    if (facts_["simulation"].is_string())
      facts_["ledger"] = ledger_of(held.run->folder, facts_["simulation"], one_.session);
  }

  static Json in_memory(const shm::Undrained& held) {
    Json variables = Json::array();
    for (const auto& [name, each] : held.variables)
      variables.push_back({{"name", name}, {"blocks", each.blocks}, {"bytes", each.bytes}});
    return {{"iterations", held.iterations},
            {"blocks", held.blocks},
            {"bytes", held.bytes},
            {"variables", std::move(variables)}};
  }

  static Json done(std::int64_t iteration) {
    return iteration < 0 ? Json(nullptr) : Json(iteration);
  }

  static Json buffer(const shm::Segment& segment) {
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

  void add_ranks(const shm::Segment& segment) {
    Json clients = Json::array();
    std::uint64_t attached = 0;
    const std::uint32_t count = segment.header().client_count;
    for (std::uint32_t i = 0; i < count; ++i) {
      const shm::ClientArea area = segment.client(i);
      const shm::ClientRecord record = area.server->records[area.server->record.load() & 1];
      const auto phase = static_cast<shm::ClientPhase>(record.phase);
      const std::uint64_t waiting = area.client->event_tail.load() - area.server->event_head.load();
      attached += phase == shm::ClientPhase::attached;
      clients.push_back(
          {{"rank", phase == shm::ClientPhase::absent ? Json(nullptr) : Json(record.rank)},
           {"phase", name_of(phase)},
           {"iteration", record.iteration},
           {"events_waiting", std::min<std::uint64_t>(waiting, segment.header().event_slots)}});
    }
    facts_["ranks"] = {{"node", count},
                       {"all", all_ranks_.empty() ? Json(nullptr) : Json(std::stoll(all_ranks_))},
                       {"attached", attached}};
    facts_["clients"] = std::move(clients);
  }

  void add_stores(const shm::Segment& segment, const model::Model* model) {
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
    facts_["stores"] = std::move(stores);
  }

  static Json variables(const model::Model& model) {
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

  const platform::LiveOne& one_;
  const KilledSession* killed_ = nullptr;
  pid_t pid_ = 0;
  std::string all_ranks_;
  Json facts_;
};

}  // namespace

std::vector<Json> look_at_sessions() {
  const platform::Findings found =
      platform::sweep({platform::runtime_folder_name()}, platform::Sweep::look);
  std::vector<Json> sessions;
  for (const platform::LiveOne& one : found.alive) sessions.push_back(SessionFacts(one).run());
  for (const KilledSession& each : killed_sessions()) {
    const platform::LiveOne one{
        each.what.session, "/dev/shm/" + each.what.segment, each.what.bytes, {}};
    sessions.push_back(SessionFacts(one, each).run());
  }
  return sessions;
}

}  // namespace leat::command

// SPDX-License-Identifier: Apache-2.0
// Running sessions: what their servers say, or else their segments and locks.

#include <filesystem>
#include <optional>

#include "lib/control/run_json.hpp"
#include "lib/model/reader.hpp"
#include "lib/model/run_description.hpp"
#include "lib/node/runtime_folder.hpp"
#include "lib/node/stale_resources.hpp"
#include "lib/os/descriptor.hpp"
#include "lib/os/file_lock.hpp"
#include "lib/shm/segment.hpp"
#include "lib/shm/undrained.hpp"
#include "server/cli/control_client.hpp"
#include "server/cli/drain.hpp"
#include "server/cli/ls_files.hpp"
#include "server/cli/screen.hpp"

namespace leat::cli {
namespace {

namespace fs = std::filesystem;

std::string segment_of(const node::LiveOne& one) {
  return fs::path(one.segment).filename().string();
}

// What a server says of itself; asked first, and read when all have been asked.
class Question {
 public:
  Question(const node::LiveOne& one, const os::Deadline& deadline) : one_(one) {
    Result<ControlClient> client = ControlClient::connect(one.session, deadline);
    if (!client) return;
    client_.emplace(std::move(*client));
    for (const char* verb : {"status", "describe"})
      if (!client_->send(verb, {}, deadline)) client_.reset();
  }

  /// Null when it says nothing in time, or is another one's server.
  Json answer(const os::Deadline& deadline) {
    const Json status = next(deadline), description = next(deadline);
    if (!status.is_object() || !description.is_object()) return nullptr;
    if (!one_.segment.empty() && status.value("segment", "") != segment_of(one_)) return nullptr;
    Json facts = status;
    facts["variables"] = description.value("variables", Json());
    return facts;
  }

 private:
  Json next(const os::Deadline& deadline) {
    if (!client_) return nullptr;
    const Result<Json> reply = client_->receive(deadline);
    if (!reply || !reply->value("ok", false)) return nullptr;
    return reply->value("result", Json());
  }

  const node::LiveOne& one_;
  std::optional<ControlClient> client_;
};

// What the server has open for writing, without its own.
Json files_in(const Json& open_files) {
  Json list = Json::array();
  const std::string runtime = node::runtime_folder_name();
  for (const Json& target : open_files) {
    const fs::path file = os::file_at_target(target.get<std::string>());
    const std::string path = file.string();
    const bool is_own = path.starts_with("/dev/") || path.starts_with(runtime + "/");
    if (path.empty() || is_own || file.filename().string()[0] == '.') continue;
    std::error_code error;
    const std::uintmax_t bytes = fs::file_size(file, error);
    list.push_back({{"file", path}, {"bytes", error ? 0 : bytes}});
  }
  return list;
}

Json json_of_answer(const node::LiveOne& one, Json answer) {
  Json facts{{"session", one.session},
             {"state", answer.value("state", "running")},
             {"pid", answer.value("pid", Json())},
             {"problem", ""}};
  const Json open_files = answer.value("open_files", Json::array());
  for (const char* own : {"open_files", "segment"}) answer.erase(own);
  facts.update(answer);
  facts["files"] = files_in(open_files);
  facts["ledger"] =
      ledger_of(facts.value("folder", ""), facts.value("simulation", ""), one.session);
  return facts;
}

// Of one whose server says nothing: what its segment and its locks say.
class SilentSession {
 public:
  explicit SilentSession(const node::LiveOne& one, const KilledSession* killed = nullptr)
      : one_(one), killed_(killed) {}

  Json run() {
    facts_ = {{"session", one_.session}, {"state", "starting"},   {"pid", nullptr},
              {"problem", ""},           {"since", nullptr},      {"folder", nullptr},
              {"config", nullptr},       {"files", Json::array()}};
    if (!one_.segment.empty()) of_segment();
    return std::move(facts_);
  }

 private:
  void of_segment() {
    const std::string name = segment_of(one_);
    const bool has_server = is_held_by_server();
    facts_["state"] = killed_      ? "killed"
                      : has_server ? "not answering"
                                   : "waiting for its next server";
    const Result<shm::Segment> segment = shm::Segment::look(name);
    if (!segment) {
      facts_["problem"] = segment.error().message;
      return;
    }
    const shm::Undrained held = killed_ ? killed_->held : shm::undrained_in(name);
    const model::ReadResult read =
        held.run ? model::read_sources(held.run->sources) : model::ReadResult();
    const model::Model* const model = read.model ? &*read.model : nullptr;
    facts_.update(control::json_of_segment(
        *segment, model, held.run ? std::optional(held.run->ranks) : std::nullopt));
    facts_["variables"] = model ? Json(model::to_json(*model)["variables"]) : Json(nullptr);
    if (has_server) of_server();
    if (killed_) facts_["in_memory"] = in_memory(held);
    facts_["ledger"] = nullptr;
    if (held.run) of_run(*held.run);
  }

  // Of the first server of a session it is known who it is.
  void of_server() {
    const bool is_maker = facts_["takeovers"] == 0 && one_.maker.pid != 0;
    facts_["problem"] =
        "its server" + (is_maker ? ", process " + std::to_string(one_.maker.pid) + "," : "") +
        " does not answer: it is stopped, has no time, or could not make its control "
        "channel, which its log says. This is what its memory "
        "says";
    if (!is_maker) return;
    facts_["pid"] = one_.maker.pid;
    facts_["since"] = json_of_time(os::time_of_start(one_.maker));
  }

  void of_run(const shm::RunText& run) {
    facts_["folder"] = run.folder;
    facts_["config"] = (fs::path(run.folder) / run.sources.front().first).string();
    if (facts_["simulation"].is_string())
      facts_["ledger"] = ledger_of(run.folder, facts_["simulation"], one_.session);
  }

  bool is_held_by_server() const {
    const os::UniqueFd file = os::open_there(one_.segment);
    return file && os::byte_is_locked(file, node::kServerByte);
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

  const node::LiveOne& one_;
  const KilledSession* killed_;
  Json facts_;
};

}  // namespace

std::vector<Json> look_at_sessions(double seconds) {
  const node::Findings found = node::sweep({node::runtime_folder_name()}, node::Sweep::look);
  const auto deadline = os::Deadline::in_ns(static_cast<std::int64_t>(seconds * 1e9));
  std::vector<Question> questions;
  for (const node::LiveOne& one : found.alive) questions.emplace_back(one, deadline);
  std::vector<Json> sessions;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const node::LiveOne& one = found.alive[i];
    Json answer = questions[i].answer(deadline);
    sessions.push_back(answer.is_null() ? SilentSession(one).run()
                                        : json_of_answer(one, std::move(answer)));
  }
  for (const KilledSession& each : killed_sessions()) {
    const node::LiveOne one{
        each.what.session, "/dev/shm/" + each.what.segment, each.what.bytes, {}};
    sessions.push_back(SilentSession(one, &each).run());
  }
  return sessions;
}

}  // namespace leat::cli

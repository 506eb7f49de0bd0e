// SPDX-License-Identifier: Apache-2.0
#include "server/state/ledger/ledger_file.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "lib/node/runtime_folder.hpp"
#include "lib/os/clock.hpp"
#include "lib/os/file_lock.hpp"
#include "lib/os/process.hpp"
#include "server/state/journal/names.hpp"

namespace leat::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

Json json_of_stores(const Ledger& ledger) {
  Json stores = Json::array();
  for (std::uint32_t i = 0; i < ledger.table().names().stores.size(); ++i) {
    const std::string& name = ledger.table().names().stores[i];
    Json store{{"name", name}};
    if (const std::uint64_t skipped = ledger.table().skipped(name); skipped > 0)
      store["skipped"] = skipped;
    if (const auto why = ledger.stores().failed.find(i); why != ledger.stores().failed.end())
      store["failed"] = why->second;
    if (const auto until = ledger.stores().until.find(i); until != ledger.stores().until.end())
      store["stored_until"] = until->second;
    stores.push_back(std::move(store));
  }
  return stores;
}

Json json_of_scripts(const Incidents& incidents) {
  Json scripts = Json::array();
  for (const auto& [name, fate] : incidents.scripts()) {
    Json script{
        {"name", name}, {"calls", fate.calls}, {"failed", fate.failed}, {"skipped", fate.skipped}};
    if (!fate.why.empty()) script["why"] = fate.why;
    scripts.push_back(std::move(script));
  }
  return scripts;
}

Json json_of_warnings(const Ledger& ledger) {
  Json all = Json::array();
  for (const Warning& warning : ledger.incidents().warnings()) {
    Json entry{{"what", warning.what}, {"variable", nullptr}};
    if (ledger.table().is_variable(warning.variable))
      entry["variable"] = ledger.table().subject(warning.variable);
    entry["first"] = warning.first;
    entry["last"] = warning.last;
    entry["iterations"] = warning.iterations;
    entry["text"] = warning.text;
    all.push_back(std::move(entry));
  }
  return all;
}

Json json_of_placement(const Incidents& incidents) {
  if (!incidents.placement()) return nullptr;
  const PlacementNote& note = *incidents.placement();
  return {{"server", note.server}, {"memory", note.memory}, {"warnings", note.warnings}};
}

Json json_of_drain(const Ledger& ledger) {
  if (!ledger.drained()) return nullptr;
  const DrainCount& count = *ledger.drained();
  return {{"iterations", count.iterations}, {"blocks", count.blocks}, {"bytes", count.bytes}};
}

Json json_of_ranks(const std::set<std::pair<std::int32_t, std::int64_t>>& ranks) {
  Json list = Json::array();
  for (const auto& [rank, iteration] : ranks)
    list.push_back({{"rank", rank}, {"iteration", iteration}});
  return list;
}

Json json_of_order(const Incidents& incidents) {
  if (incidents.drained_by().empty()) return nullptr;
  return {{"who", incidents.drained_by()}, {"cut_off", json_of_ranks(incidents.cut_off())}};
}

std::string how_it_ended(const Incidents& incidents) {
  if (!incidents.deaths().empty()) return "died";
  return incidents.cut_off().empty() ? "finished" : "stopped";
}

std::vector<Row> rows_in_order(const LedgerTable& table, const Rows& rows) {
  std::vector<Row> sorted = rows.all();
  std::sort(sorted.begin(), sorted.end(), [&table](const Row& a, const Row& b) {
    return std::tie(a.first, table.fates()[a.fate], a.last) <
           std::tie(b.first, table.fates()[b.fate], b.last);
  });
  return sorted;
}

Json subject_of(const LedgerTable& table, std::size_t place) {
  const std::string subject = table.subject(place);
  if (table.is_variable(place)) return {{"variable", subject}};
  return {{"variable", nullptr}, {"what", subject.substr(1, subject.size() - 2)}};
}

// One entry to a line, so that people can read it too.
void append_entries(const LedgerTable& table, std::string* text) {
  bool any = false;
  for (std::size_t place = 0; place < table.rows().size(); ++place) {
    for (const Row& row : rows_in_order(table, table.rows()[place])) {
      Json entry = subject_of(table, place);
      entry.update(json_of(table, row));
      *text += (any ? ",\n    " : "\n    ") + line_of(entry);
      any = true;
    }
  }
  if (any) *text += "\n  ";
}

}  // namespace

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json json_of(const LedgerTable& table, const Row& row) {
  const Fate& fate = table.fates()[row.fate];
  Json entry{{"fate", name_of(fate.kind)}};
  if (fate.has_store()) entry["store"] = table.names().stores[fate.store];
  entry["iterations"] = {row.first, row.last, row.step};
  entry["ranks"] = table.rank_sets()[row.ranks];
  entry["blocks"] = row.blocks;
  entry["bytes"] = row.bytes;
  if (fate.why != Reasons::kNone) entry["why"] = table.reasons()[fate.why];
  if (!row.exact) entry["exact"] = false;
  return entry;
}

std::string ledger_json(const Ledger& ledger, const std::string& state) {
  const LedgerNames& names = ledger.table().names();
  const std::pair<const char*, Json> head[] = {
      {"leat_ledger", kVersion},
      {"simulation", names.simulation},
      {"session", names.session},
      {"ranks", names.ranks},
      {"node_ranks", names.node_ranks},
      {"node", os::node_name()},
      {"run_id", names.run_id},
      {"run_number", run_number(names.run_id)},
      {"state", state == "finished" ? how_it_ended(ledger.incidents()) : state},
      {"status", ledger.has_problems() ? "LEAT_ERROR_LOST" : "LEAT_OK"},
      {"lost", ledger.lost_writes()},
      {"dropped", ledger.table().dropped_writes()},
      {"dropped_iterations", ledger.table().dropped_iterations()},
      {"in_progress", ledger.in_progress()},
      {"drained", json_of_drain(ledger)},
      {"stores", json_of_stores(ledger)},
      {"died", json_of_ranks(ledger.incidents().deaths())},
      {"drained_by", json_of_order(ledger.incidents())},
      {"never_came", ledger.incidents().never_came()},
      {"scripts", json_of_scripts(ledger.incidents())},
      {"warnings", json_of_warnings(ledger)},
      {"placement", json_of_placement(ledger.incidents())},
  };
  std::string text = "{\n";
  for (const auto& [name, value] : head)
    text += std::string("  \"") + name + "\": " + line_of(value) + ",\n";
  text += "  \"entries\": [";
  append_entries(ledger.table(), &text);
  return text + "]\n}\n";
}

namespace {

constexpr const char* kEnding = ".ledger.json";
constexpr const char* kReport = ".report.json";

// What an earlier run has said of itself.
struct KeptLedger {
  std::string file, session, run_id, node;
  bool is_finished = false;
};

KeptLedger read_kept(const std::filesystem::path& path) {
  std::error_code missing;
  if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(path, missing))) return {};
  std::ifstream stream(path, std::ios::binary);
  const nlohmann::json whole = nlohmann::json::parse(stream, nullptr, false);
  if (!whole.is_object() || !whole.contains("leat_ledger")) return {};
  const auto text = [&whole](const char* name) {
    const auto found = whole.find(name);
    return found != whole.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const std::string state = text("state");
  return {path.filename().string(), text("session"), text("run_id"), text("node"),
          state == "finished" || state == "drained" || state == "died" || state == "stopped"};
}

// <name>.ledger.json and those that were set aside, or have a session in their names.
std::vector<KeptLedger> kept_ledgers(const std::string& folder, const std::string& name) {
  std::vector<KeptLedger> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string file = entry->path().filename().string();
    if (file.starts_with(name) && file.ends_with(kEnding))
      found.push_back(read_kept(entry->path()));
  }
  return found;
}

// "run" of "run.ledger.json"
std::string ledger_stem(const std::string& ledger) {
  return ledger.substr(0, ledger.size() - std::strlen(kEnding));
}

// "run.1.ledger.json"
std::string unused_name(const os::Folder& folder, const std::string& wanted) {
  for (int number = 1;; ++number) {
    std::string name = ledger_stem(wanted) + "." + std::to_string(number) + kEnding;
    if (!folder.exists(name)) return name;
  }
}

std::string with_failures_settled(Ledger* ledger, const std::string& state) {
  ledger->settle_failures();
  return ledger_json(*ledger, state);
}

}  // namespace

LedgerFile::LedgerFile(const LedgerNames& names, const std::string& folder)
    : names_(names), name_(names.simulation + names.apart), path_(folder), folder_(folder) {}

LedgerFile::~LedgerFile() {
  worker_.stop();
  if (lock_ && os::still_there(lock_, in_folder(lock_of(name_)))) folder_.remove(lock_of(name_));
}

std::string LedgerFile::start(const Ledger& ledger, Executor& executor) {
  std::string note = take_name();
  started_ = true;
  store(ledger_json(ledger, "running"));
  if (!is_continued_) write(text_);  // should it fail, the last writing says so
  executor.start(worker_, "leat ledger");
  return note;
}

std::string LedgerFile::take_name() {
  const std::string wanted = name_ + kEnding;
  for (const KeptLedger& each : kept_ledgers(path_, name_)) {
    if (each.run_id != names_.run_id || names_.run_id.empty()) continue;
    if (!(lock_ = os::lock_file(in_folder(lock_of(each.file)), 0))) continue;
    name_ = each.file;
    is_continued_ = true;
    return "";
  }
  if (take_lock(wanted)) {
    name_ = wanted;
    return set_aside(wanted);
  }
  const std::string stem = name_ + "-" + names_.session;
  name_ = stem + kEnding;
  for (int number = 2; !take_lock(name_); ++number)
    name_ = stem + "-" + std::to_string(number) + kEnding;
  return set_aside(name_);
}

// Where no lock can be had, the name is taken as free.
bool LedgerFile::take_lock(const std::string& name) {
  folder_.remove_no_file(lock_of(name));
  lock_ = os::lock_file(in_folder(lock_of(name)), 0);
  return lock_ || !folder_.exists(lock_of(name));
}

// The word of a run that was killed is not overwritten: a server that drains it goes on with it. Nor
// is that of a server of this run, on another node whose host is called as this one's, that has
// ended before this one began.
std::string LedgerFile::set_aside(const std::string& wanted) const {
  const KeptLedger old = read_kept(in_folder(wanted));
  const bool is_of_this_run = !names_.apart.empty() && old.session == names_.session;
  if (old.file.empty() || (old.is_finished && !is_of_this_run) || old.run_id == names_.run_id)
    return "";
  const std::string aside = unused_name(folder_, wanted);
  if (std::rename(in_folder(wanted).c_str(), in_folder(aside).c_str()) != 0) return "";
  if (old.is_finished) {
    std::rename(in_folder(ledger_stem(wanted) + kReport).c_str(),
                in_folder(ledger_stem(aside) + kReport).c_str());
    return "a server of session " + old.session + " that has ended had the ledger " + wanted +
           "; that is called " + aside + " now";
  }
  const std::string what = "the run before this one here, session " + old.session +
                           ", was killed before its end; its ledger is " + aside + " now; ";
  if (node::segment_is_there(old.run_id)) return what + "what it has in memory is being stored";
  if (!old.node.empty() && old.node != os::node_name()) {
    return what + "what it had in memory may be there still: `leat recover` on " + old.node +
           " stores it";
  }
  return what +
         "nothing of it is in memory: it had written nothing yet, or, as after a restart of "
         "the "
         "machine, what was not in its files by then is lost";
}

void LedgerFile::update(const Ledger& ledger) {
  if (!is_behind(ledger)) return;
  const std::int64_t now = os::now_ns();
  if (now - written_ns_ < kEveryNs || !worker_.is_idle()) return;
  written_ns_ = now;
  written_version_ = ledger.version();
  worker_.post([this, copy = ledger]() mutable {
    std::string text = with_failures_settled(&copy, "running");
    write(text);  // should it fail, the last writing says so
    store(std::move(text));
  });
}

void LedgerFile::publish(const Ledger& ledger, const std::string& state) {
  worker_.stop();
  Ledger copy = ledger;
  store(with_failures_settled(&copy, state));
}

std::string LedgerFile::finish(const Ledger& ledger) {
  if (!started_) return "";
  publish(ledger, ledger.drained() ? "drained" : "finished");
  started_ = false;
  return write(text_);
}

void LedgerFile::store(std::string text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  text_ = std::move(text);
}

std::string LedgerFile::text() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return text_;
}

std::string LedgerFile::write_beside(const std::string& what, const std::string& text) {
  return folder_.write_whole(ledger_stem(name_) + "." + what + ".json", text);
}

std::string LedgerFile::write(const std::string& text) { return folder_.write_whole(name_, text); }

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
#include "server/workers/script_hand_out.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "lib/os/child_process.hpp"
#include "lib/os/clock.hpp"
#include "lib/os/folder.hpp"
#include "server/workers/graph/modules.hpp"
#include "server/workers/script_worker.hpp"

namespace leat::server {
namespace {

// While no iteration comes, a file that is new or removed is noticed this often.
constexpr auto kLookAgain = std::chrono::milliseconds(500);
// A call that takes longer keeps nobody else waiting.
constexpr std::int64_t kLongCallNs = 1'000'000'000;
// Nor does a process that takes longer to start, or to load a script: imports take their time.
constexpr std::int64_t kLongStartNs = 10'000'000'000;
// In place of how many scripts a process has.
constexpr int kIsOfModule = std::numeric_limits<int>::max();

}  // namespace

void ScriptHandOut::run() {
  const int orphans = os::end_orphaned_families();
  if (orphans > 0)
    context_.log->info("{} processes that scripts of a dead server had started were ended",
                       orphans);
  context_.output.take(*context_.log);
  (*context_.plan.setup)["output"] = context_.output.path();
  std::optional<ScriptBoard::News> news;
  do {
    edit_graph();
    look_for_changes();
    if (news) give_to_scripts(*news);
    news.reset();
    relieve();
    context_.steering.write_notes(context_.output, *context_.log);
  } while (next_news(&news));
  context_.steering.write_notes(context_.output, *context_.log);
}

// False at the end; *news may stay empty.
bool ScriptHandOut::next_news(std::optional<ScriptBoard::News>* news) {
  std::unique_lock<std::mutex> lock(board_.mutex);
  if (std::exchange(board_.handing_out, false)) context_.wake();
  board_.changed.wait_for(lock, kLookAgain, [this] {
    return board_.closing || !board_.inbox.empty() || !board_.edits.empty() ||
           context_.steering.has_notes();
  });
  if (board_.closing) return false;
  if (board_.inbox.empty()) return true;
  board_.handing_out = true;
  *news = std::move(board_.inbox.front());
  board_.inbox.pop_front();
  return true;
}

// Here, where a slow file system keeps nobody else waiting.
void ScriptHandOut::edit_graph() {
  std::vector<GraphEdit> edits;
  {
    const std::lock_guard<std::mutex> lock(board_.mutex);
    edits.swap(board_.edits);
  }
  for (const GraphEdit& each : edits) {
    const std::string why = written(each);
    if (!why.empty()) context_.log->error("the graph stays as it is: {}", why);
  }
}

void ScriptHandOut::look_for_changes() {
  const ScriptScan scan = find_scripts(context_.model.scripts.sources, plans_);
  warn_of_groups(scan.files);
  const std::lock_guard<std::mutex> lock(board_.mutex);
  for (const std::string& problem : scan.problems) {
    if (board_.said.insert(problem).second) context_.log->error("scripts: {}", problem);
  }
  for (const ScriptFile& file : scan.files) file.module ? take_module(file) : take_file(file);
  for (Script& script : board_.scripts) {
    const bool there =
        std::any_of(scan.files.begin(), scan.files.end(),
                    [&](const ScriptFile& file) { return file.path == script.file.path; });
    if (there || script.removed || scan.unreadable.count(script.file.source)) continue;
    script.removed = true;
    script.drop_waiting();
    context_.log->info("{} is gone: {} was removed", script.title(), script.file.path);
  }
  warn_of_lacking_sources();
  board_.have_looked = true;
  board_.before_first_look.clear();  // the scripts that are there have it
  board_.changed.notify_all();
}

// Without the lock: who is in a group may be a question to another machine.
void ScriptHandOut::warn_of_groups(const std::vector<ScriptFile>& files) {
  for (const ScriptFile& file : files) {
    if (!looked_at_.insert(file.path).second) continue;
    const std::string warning = os::group_warning(file.path);
    if (!warning.empty() && looked_at_.insert(warning).second)
      context_.log->warn("scripts: {}", warning);
  }
}

void ScriptHandOut::take_file(const ScriptFile& file) {
  const auto known =
      std::find_if(board_.scripts.begin(), board_.scripts.end(),
                   [&](const Script& script) { return script.file.path == file.path; });
  if (known != board_.scripts.end()) {
    if (known->file.stamp != file.stamp || known->removed) {
      known->must_load = known->was_changed = true;
      known->counts.told.clear();  // what is wrong with the new version is news
    }
    known->file.stamp = file.stamp;
    known->removed = false;
    return;
  }
  Script script;
  script.file = file;
  script.source = &context_.model.scripts.sources[file.source];
  script.fresh = !context_.resumed;
  script.unjudged = board_.before_first_look;
  script.worker = seat_for_new_script();
  board_.scripts.push_back(std::move(script));
}

std::vector<int> ScriptHandOut::scripts_at_seats() const {
  std::vector<int> scripts_at(board_.seats.size());
  for (const Script& script : board_.scripts) scripts_at[script.worker] += !script.removed;
  for (std::size_t i = 0; i < scripts_at.size(); ++i)
    if (board_.seats[i]->module) scripts_at[i] = kIsOfModule;
  return scripts_at;
}

// A new process while there may be more, else the one with the fewest scripts.
std::size_t ScriptHandOut::seat_for_new_script() {
  const std::vector<int> scripts_at = scripts_at_seats();
  const auto least = std::min_element(scripts_at.begin(), scripts_at.end());
  const bool is_free = least != scripts_at.end() && *least == 0;
  const auto most = context_.model.scripts.workers;
  const auto of_modules = std::count(scripts_at.begin(), scripts_at.end(), kIsOfModule);
  if (!is_free && std::ssize(scripts_at) - of_modules < most) return add_seat();
  return static_cast<std::size_t>(least - scripts_at.begin());
}

// A module has a process of its own. Where its part of the plan is another one, it is started anew.
void ScriptHandOut::take_module(const ScriptFile& file) {
  const auto known =
      std::find_if(board_.scripts.begin(), board_.scripts.end(),
                   [&](const Script& script) { return script.file.path == file.path; });
  if (known != board_.scripts.end() && known->file.stamp == file.stamp && !known->removed) return;
  std::unique_ptr<ModuleInputs> inputs;
  try {
    inputs = std::make_unique<ModuleInputs>(file.module, context_.model);
  } catch (const std::invalid_argument& e) {
    const std::string why = fmt::format("module \"{}\" of {}: {}", file.name, file.path, e.what());
    if (board_.said.insert(why).second) context_.log->error("{}", why);
    return;
  }
  Script& script = known != board_.scripts.end() ? *known : board_.scripts.emplace_back();
  if (script.inputs) script.drop_waiting();
  script.file = file;
  script.source = &context_.model.scripts.sources[file.source];
  script.inputs = std::move(inputs);
  script.fresh = !context_.resumed;
  script.usable = script.must_load = script.was_changed = true;
  script.removed = false;
  script.counts.told.clear();
  if (known == board_.scripts.end()) script.counts.skipped += board_.before_first_look.size();
  if (known == board_.scripts.end()) script.worker = add_seat(&script);
}

// A module that takes what nobody makes has no turn, which nothing else says. With the lock.
void ScriptHandOut::warn_of_lacking_sources() {
  const auto makes = [this](const std::string& product) {
    const std::string source = source_of(product);
    const auto is_store = [&](const model::Store& store) { return store.name == source; };
    if (std::any_of(context_.model.stores.begin(), context_.model.stores.end(), is_store))
      return true;
    return std::any_of(board_.scripts.begin(), board_.scripts.end(), [&](const Script& script) {
      if (script.removed || script.file.name != source) return false;
      if (!script.file.module || product == source) return true;
      const std::vector<std::string>& outputs = script.file.module->outputs;
      return std::count(outputs.begin(), outputs.end(), product.substr(source.size() + 1)) > 0;
    });
  };
  for (const Script& script : board_.scripts) {
    if (script.removed || !script.inputs) continue;
    for (const ModuleInput& input : script.file.module->inputs) {
      for (const std::string& product : input.sources) {
        if (makes(product)) continue;
        const std::string text =
            fmt::format("{}: port \"{}\" takes {}, which nothing in this run makes", script.title(),
                        input.port, product);
        if (board_.said.insert(text).second) context_.log->warn("{}", text);
      }
    }
  }
}

std::size_t ScriptHandOut::add_seat(Script* module) {
  const std::size_t index = board_.seats.size();
  board_.seats.push_back(std::make_unique<ScriptSeat>(context_.plan, module));
  ScriptSeat& seat = *board_.seats.back();
  seat.thread =
      context_.executor.run("leat script", Executor::Urgency::behind_others,
                            [this, &seat, index] { ScriptWorker(context_, seat, index).run(); });
  return index;
}

// Scripts that wait for another one's long call go on in another process.
void ScriptHandOut::relieve() {
  const std::lock_guard<std::mutex> lock(board_.mutex);
  const std::int64_t now_ns = os::now_ns();
  for (Script& script : board_.scripts) {
    ScriptSeat& seat = *board_.seats[script.worker];
    const std::int64_t is_long_ns = seat.running_iteration < 0 ? kLongStartNs : kLongCallNs;
    const bool is_kept_waiting = script.has_work() && !script.removed && !script.stays() &&
                                 seat.running && seat.running != &script &&
                                 now_ns - seat.running_since_ns > is_long_ns;
    std::size_t other = 0;
    if (!is_kept_waiting || !find_other_seat(script, &other)) continue;
    if (!script.must_load) seat.moved_away.push_back(&script);
    script.worker = other;
    script.must_load = true;
  }
  board_.changed.notify_all();
}

// One that does nothing, with the fewest scripts; else a new one, while there may be more.
bool ScriptHandOut::find_other_seat(const Script& script, std::size_t* index) {
  const std::vector<int> scripts_at = scripts_at_seats();
  int least = std::numeric_limits<int>::max();
  for (std::size_t i = 0; i < scripts_at.size(); ++i) {
    if (board_.seats[i]->running || i == script.worker || scripts_at[i] >= least) continue;
    least = scripts_at[i];
    *index = i;
  }
  if (least < std::numeric_limits<int>::max()) return true;
  const auto awaiting = std::count_if(board_.seats.begin(), board_.seats.end(),
                                      [](const auto& seat) { return seat->awaits_servers; });
  const auto of_modules = std::count(scripts_at.begin(), scripts_at.end(), kIsOfModule);
  if (scripts_at.size() - static_cast<std::size_t>(of_modules) >=
      ScriptBoard::kMostGrowth * static_cast<std::size_t>(context_.model.scripts.workers) +
          static_cast<std::size_t>(awaiting))
    return false;
  *index = add_seat();
  return true;
}

void ScriptHandOut::give_to_scripts(const ScriptBoard::News& news) {
  store_constants(news);
  const std::lock_guard<std::mutex> lock(board_.mutex);
  for (Script& script : board_.scripts) {
    std::visit([&](const auto& each) { script.take(each, news.pending); }, news.what);
    if (const auto* const iteration = std::get_if<Iteration>(&news.what))
      context_.leave_reductions(script, content_of(*iteration));
  }
  modules::settle(board_);
  board_.changed.notify_all();
}

void ScriptHandOut::store_constants(const ScriptBoard::News& news) {
  const auto* const iteration = std::get_if<Iteration>(&news.what);
  if (!iteration) return;
  for (const Block& block : iteration->blocks) {
    if (!context_.model.variables[block.variable].time_varying) context_.constants.store(block);
  }
}

}  // namespace leat::server

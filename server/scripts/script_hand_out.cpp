// SPDX-License-Identifier: Apache-2.0
// ScriptPool: the thread that watches the files and hands iterations out.
#include <algorithm>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lib/platform/clock.hpp"
#include "lib/platform/file_facts.hpp"
#include "lib/platform/folder.hpp"
#include "lib/platform/process_family.hpp"
#include "server/scripts/frame.hpp"
#include "server/scripts/part_files.hpp"
#include "server/scripts/script_pool.hpp"

namespace leat::server {
namespace {

// While no iteration comes, a file that is new or removed is noticed this often.
constexpr auto kLookAgain = std::chrono::milliseconds(500);
// A call that takes longer keeps nobody else waiting.
constexpr std::int64_t kLongCallNs = 1'000'000'000;
// Nor does a process that takes longer to start, or to load a script: imports take their time.
constexpr std::int64_t kLongStartNs = 10'000'000'000;
// A run that is just ending has its names still.
constexpr std::int64_t kWaitForNameNs = 2'000'000'000;

constexpr const char* kAuditTrail = "steering.csv";

// A field of a CSV file, by RFC 4180.
std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string field = "\"";
  for (const char c : text) field += c == '"' ? std::string("\"\"") : std::string(1, c);
  return field + "\"";
}

}  // namespace

// Pictures of an earlier run must not stand among those of this one. A folder that the user named
// may hold other things, and stays as it is. That of a run in progress is not touched.
void ScriptPool::take_output_folder() {
  namespace fs = std::filesystem;
  own_output_ = OwnName(output_, session_, resumed_, kWaitForNameNs);
  output_ = own_output_.path();
  (*plan_.setup)["output"] = output_;
  if (!own_output_.why_another().empty()) log_->warn("scripts: {}", own_output_.why_another());
  const fs::path folder = output_;
  remove_dead_parts(output_);
  std::error_code error;
  if (resumed_ || !has_default_output(model_) || !fs::is_directory(folder, error)) return;
  fs::path aside;
  int number = 1;
  do {
    aside = folder.string() + "." + std::to_string(number++);
  } while (fs::exists(aside, error));
  fs::rename(folder, aside, error);
  if (!error)
    log_->info("{} was there already and is called {} now", folder.string(), aside.string());
}

void ScriptPool::hand_out() {
  const int orphans = platform::end_orphaned_families();
  if (orphans > 0)
    log_->info("{} processes that scripts of a dead server had started were ended", orphans);
  take_output_folder();
  std::shared_ptr<const Iteration> iteration;
  do {
    look_for_changes();
    if (iteration) give_to_scripts(*iteration);
    iteration.reset();
    relieve();
    write_audit_trail();
  } while (next_iteration(&iteration));
  write_audit_trail();
}

void ScriptPool::write_audit_trail() {
  std::vector<AuditEntry> entries;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    entries.swap(audit_);
  }
  if (entries.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(output_, error);
  const platform::Folder folder(output_);
  std::ostringstream lines;
  if (!folder.exists(kAuditTrail)) lines << "iteration,parameter,from,to,script\n";
  for (const AuditEntry& entry : entries) {
    lines << entry.iteration << ',' << entry.parameter << ',' << quoted(entry.old_value) << ','
          << quoted(entry.new_value) << ',' << entry.who << '\n';
  }
  if (const std::string why = folder.append(kAuditTrail, lines.str()); !why.empty())
    log_->error("cannot write the audit trail of steering, {}/{}: {}", output_, kAuditTrail, why);
}

// False at the end; *iteration may stay empty.
bool ScriptPool::next_iteration(std::shared_ptr<const Iteration>* iteration) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (std::exchange(handing_out_, false)) wake_();
  changed_.wait_for(lock, kLookAgain,
                    [this] { return closing_ || !inbox_.empty() || !audit_.empty(); });
  if (closing_) return false;
  if (inbox_.empty()) return true;
  handing_out_ = true;
  *iteration = std::move(inbox_.front());
  inbox_.pop_front();
  return true;
}

void ScriptPool::look_for_changes() {
  const ScriptScan scan = find_scripts(model_.scripts.sources);
  warn_of_groups(scan.files);
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const std::string& problem : scan.problems) {
    if (problems_.insert(problem).second) log_->error("scripts: {}", problem);
  }
  for (const ScriptFile& file : scan.files) take_file(file);
  for (Script& script : scripts_) {
    const bool there =
        std::any_of(scan.files.begin(), scan.files.end(),
                    [&](const ScriptFile& file) { return file.path == script.file.path; });
    if (there || script.removed) continue;
    script.removed = true;
    script.drop_waiting();
    log_->info("script \"{}\" is gone: {} was removed", script.file.name, script.file.path);
  }
  have_looked_ = true;
  before_first_look_.clear();  // the scripts that are there have it
  changed_.notify_all();
}

// Without the lock: who is in a group may be a question to another machine.
void ScriptPool::warn_of_groups(const std::vector<ScriptFile>& files) {
  for (const ScriptFile& file : files) {
    if (!looked_at_.insert(file.path).second) continue;
    const std::string warning = platform::group_warning(file.path);
    if (!warning.empty() && looked_at_.insert(warning).second) log_->warn("scripts: {}", warning);
  }
}

void ScriptPool::take_file(const ScriptFile& file) {
  const auto known = std::find_if(scripts_.begin(), scripts_.end(), [&](const Script& script) {
    return script.file.path == file.path;
  });
  if (known != scripts_.end()) {
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
  script.source = &model_.scripts.sources[file.source];
  script.fresh = !resumed_;
  script.unjudged = before_first_look_;
  script.worker = worker_for_new_script();
  scripts_.push_back(std::move(script));
}

// A new process while there may be more, else the one with the fewest scripts.
std::size_t ScriptPool::worker_for_new_script() {
  std::vector<int> scripts_at(workers_.size());
  for (const Script& script : scripts_) scripts_at[script.worker] += !script.removed;
  const auto least = std::min_element(scripts_at.begin(), scripts_at.end());
  if (least != scripts_at.end() && *least == 0)
    return static_cast<std::size_t>(least - scripts_at.begin());
  if (workers_.size() < static_cast<std::size_t>(model_.scripts.workers)) return add_worker();
  return static_cast<std::size_t>(least - scripts_at.begin());
}

std::size_t ScriptPool::add_worker() {
  const std::size_t index = workers_.size();
  workers_.push_back(std::make_unique<Worker>(plan_));
  workers_.back()->thread =
      std::thread([this, worker = workers_.back().get(), index] { work(*worker, index); });
  return index;
}

// Scripts that wait for another one's long call go on in another process.
void ScriptPool::relieve() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::int64_t now_ns = platform::now_ns();
  for (Script& script : scripts_) {
    Worker& worker = *workers_[script.worker];
    const std::int64_t is_long_ns = worker.running_iteration < 0 ? kLongStartNs : kLongCallNs;
    const bool is_kept_waiting = script.has_work() && !script.removed && worker.running &&
                                 worker.running != &script &&
                                 now_ns - worker.running_since_ns > is_long_ns;
    std::size_t other = 0;
    if (!is_kept_waiting || !find_other_worker(script, &other)) continue;
    if (!script.must_load) worker.moved_away.push_back(&script);
    script.worker = other;
    script.must_load = true;
  }
  changed_.notify_all();
}

// One that does nothing, with the fewest scripts; else a new one, while there may be more.
bool ScriptPool::find_other_worker(const Script& script, std::size_t* index) {
  std::vector<int> scripts_at(workers_.size());
  for (const Script& each : scripts_) scripts_at[each.worker] += !each.removed;
  int least = std::numeric_limits<int>::max();
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i]->running || i == script.worker || scripts_at[i] >= least) continue;
    least = scripts_at[i];
    *index = i;
  }
  if (least < std::numeric_limits<int>::max()) return true;
  if (workers_.size() >= kMostGrowth * static_cast<std::size_t>(model_.scripts.workers))
    return false;
  *index = add_worker();
  return true;
}

void ScriptPool::give_to_scripts(const Iteration& iteration) {
  for (const Block& block : iteration.blocks) {
    if (!model_.variables[block.variable].time_varying) constants_.keep(block);
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  const WrittenVariables written = written_in(iteration);
  for (Script& script : scripts_) {
    if (script.may_want(written)) {
      script.add(script.part_of(iteration));
    } else if (!script.usable) {
      script.leave_out(written);
    }
  }
  changed_.notify_all();
}

}  // namespace leat::server

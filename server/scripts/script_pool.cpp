// SPDX-License-Identifier: Apache-2.0
// What the event loop calls, and the thread that hands iterations out. What happens at a process is
// in script_runs.cpp.
#include "server/scripts/script_pool.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "lib/platform/clock.hpp"
#include "lib/platform/process.hpp"
#include "server/scripts/model_json.hpp"
#include "server/scripts/part_files.hpp"
#include "server/scripts/python_tools.hpp"

namespace leat::server {
namespace {

// While no iteration comes, a file that is new or removed is noticed this often.
constexpr auto kLookAgain = std::chrono::milliseconds(500);

// A field of a CSV file, by RFC 4180.
std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string field = "\"";
  for (const char c : text) field += c == '"' ? std::string("\"\"") : std::string(1, c);
  return field + "\"";
}

bool has_default_output(const model::Model& model) {
  return model.scripts.output == model.name + "-scripts";
}

// Each node has scripts of its own, and on a shared disk it needs a folder of its own.
std::string output_folder(const ScriptPoolParts& parts) {
  const bool of_several_nodes = parts.ranks > parts.node_ranks;
  const std::string folder = parts.model.scripts.output;
  return std::filesystem::absolute(of_several_nodes && has_default_output(parts.model)
                                       ? folder + "-" + platform::host_name()
                                       : folder)
      .string();
}

WorkerPlan plan_of(const ScriptPoolParts& parts, int constants_fd) {
  const model::Scripts& scripts = parts.model.scripts;
  WorkerPlan plan;
  plan.interpreter = platform::find_program(scripts.interpreter);
  plan.launcher = python_launcher();
  plan.setup = model_as_json(parts.model);
  plan.setup["session"] = parts.session;
  plan.setup["segment"] = parts.segment_path;
  plan.setup["ranks"] = parts.ranks;
  plan.setup["memory"] = scripts.memory_bytes;
  plan.setup["output"] = output_folder(parts);
  plan.setup["resumed"] = parts.resumed;
  plan.cores = static_cast<int>(parts.model.architecture.dedicated_cores);
  plan.constants_fd = constants_fd;
  return plan;
}

}  // namespace

ScriptPool::ScriptPool(ScriptPoolParts parts)
    : model_(parts.model),
      log_(parts.log),
      segment_start_(static_cast<const char*>(parts.segment_start)),
      resumed_(parts.resumed),
      store_(std::move(parts.store)),
      wake_(std::move(parts.wake)) {
  if (!exists()) return;
  plan_ = plan_of(parts, constants_.descriptor());
  output_ = output_folder(parts);
}

ScriptPool::~ScriptPool() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  if (dispatcher_.joinable()) dispatcher_.join();
  for (const auto& worker : workers_) {
    if (worker->thread.joinable()) worker->thread.join();
  }
}

void ScriptPool::start() {
  if (!exists()) return;
  dispatcher_ = std::thread([this] { hand_out(); });
}

void ScriptPool::submit(const Iteration& iteration) {
  if (!exists()) return;
  auto copy = std::make_shared<const Iteration>(iteration);
  const std::lock_guard<std::mutex> lock(mutex_);
  inbox_.push_back(std::move(copy));
  changed_.notify_all();
}

bool ScriptPool::idle() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return inbox_.empty() && !handing_out_ &&
         std::all_of(scripts_.begin(), scripts_.end(),
                     [](const Script& script) { return script.waiting.empty(); }) &&
         std::all_of(workers_.begin(), workers_.end(),
                     [](const auto& worker) { return worker->running == nullptr; });
}

void ScriptPool::let_go_for_memory() {
  const std::lock_guard<std::mutex> lock(mutex_);
  bool somebody_needs_all = false;
  for (Script& script : scripts_) {
    somebody_needs_all |= script.source->waits;
    if (!script.source->waits) script.drop_waiting();
  }
  if (somebody_needs_all) return;
  for (Script& script : scripts_) script.counts.skipped += inbox_.size();
  inbox_.clear();  // not handed out: the disk with the scripts hangs, for example
}

void ScriptPool::abandon() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Script& script : scripts_) {
    script.counts.skipped += inbox_.size();
    script.drop_waiting();
  }
  inbox_.clear();
  for (const auto& worker : workers_) {
    if (worker->running && worker->process.runs()) kill(worker->process.pid(), SIGKILL);
  }
}

std::vector<SteeringRequest> ScriptPool::take_steering() {
  if (!exists()) return {};  // asked on each turn of the event loop
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(steering_, {});
}

void ScriptPool::note_steering(const AuditEntry& entry) {
  const std::lock_guard<std::mutex> lock(mutex_);
  audit_.push_back(entry);
  changed_.notify_all();
}

void ScriptPool::place(const platform::CpuSet& cpus) {
  const std::lock_guard<std::mutex> lock(mutex_);
  cpus_ = cpus;
  for (const auto& worker : workers_) {
    if (worker->process.runs()) platform::set_affinity(cpus, worker->process.pid());
  }
}

std::vector<std::string> ScriptPool::report() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> lines;
  for (const Script& script : scripts_) {
    const ScriptCounts& counts = script.counts;
    std::string text = fmt::format("script \"{}\": {} call{}, {:.3g} s", script.file.name,
                                   counts.calls, counts.calls == 1 ? "" : "s", counts.seconds);
    if (counts.skipped > 0) text += fmt::format(", {} iterations left out", counts.skipped);
    if (counts.failed > 0)
      text += fmt::format(", {} FAILED: {}", counts.failed, counts.first_error);
    if (!script.usable && !script.removed) text += "; not called any more";
    lines.push_back(std::move(text));
  }
  return lines;
}

std::string ScriptPool::slowest() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::string text;
  std::int64_t longest_ns = 1'000'000'000;
  for (const auto& worker : workers_) {
    if (!worker->running || worker->running_iteration < 0) continue;
    const std::int64_t since_ns = platform::now_ns() - worker->running_since_ns;
    if (since_ns < longest_ns) continue;
    longest_ns = since_ns;
    text = fmt::format("script \"{}\" has held iteration {} for {} s", worker->running->file.name,
                       worker->running_iteration, since_ns / 1'000'000'000);
  }
  return text;
}

// ---- handing out ----

// Pictures of an earlier run must not stand among those of this one. A folder that the user named
// may hold other things, and stays as it is.
void ScriptPool::put_old_output_aside() {
  namespace fs = std::filesystem;
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
  put_old_output_aside();
  std::shared_ptr<const Iteration> iteration;
  do {
    look_for_changes();
    if (iteration) give_to_scripts(*iteration);
    iteration.reset();
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
  const std::string path = output_ + "/steering.csv";
  const bool is_new = !std::filesystem::exists(path, error);
  std::ofstream file(path, std::ios::app);
  if (is_new) file << "iteration,parameter,from,to,script\n";
  for (const AuditEntry& entry : entries) {
    file << entry.iteration << ',' << entry.parameter << ',' << quoted(entry.old_value) << ','
         << quoted(entry.new_value) << ',' << entry.who << '\n';
  }
  file.flush();
  if (!file) log_->error("cannot write the audit trail of steering, {}", path);
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
  changed_.notify_all();
}

void ScriptPool::take_file(const ScriptFile& file) {
  const auto known = std::find_if(scripts_.begin(), scripts_.end(), [&](const Script& script) {
    return script.file.path == file.path;
  });
  if (known != scripts_.end()) {
    if (known->file.stamp != file.stamp || known->removed)
      known->must_load = known->was_changed = true;
    known->file.stamp = file.stamp;
    known->removed = false;
    return;
  }
  Script script;
  script.file = file;
  script.source = &model_.scripts.sources[file.source];
  script.fresh = !resumed_;
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
  if (workers_.size() < static_cast<std::size_t>(model_.scripts.workers)) {
    const std::size_t index = workers_.size();
    workers_.push_back(std::make_unique<Worker>(plan_));
    workers_.back()->thread =
        std::thread([this, worker = workers_.back().get(), index] { work(*worker, index); });
    return index;
  }
  return static_cast<std::size_t>(least - scripts_at.begin());
}

void ScriptPool::give_to_scripts(const Iteration& iteration) {
  for (const Block& block : iteration.blocks) {
    if (!model_.variables[block.variable].time_varying) constants_.keep(block);
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Script& script : scripts_) {
    if (script.may_want(iteration)) script.add(script.part_of(iteration));
  }
  changed_.notify_all();
}

}  // namespace leat::server

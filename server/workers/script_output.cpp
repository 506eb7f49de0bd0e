// SPDX-License-Identifier: Apache-2.0
#include "server/workers/script_output.hpp"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "lib/node/placement.hpp"
#include "lib/os/child_process.hpp"
#include "lib/os/clock.hpp"
#include "lib/os/descriptor.hpp"
#include "lib/os/file_lock.hpp"
#include "lib/os/folder.hpp"
#include "lib/os/process.hpp"
#include "server/state/journal/names.hpp"

namespace leat::server {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> files_that_end_with(const std::string& ending, const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string path = entry->path().string();
    if (path.ends_with(ending)) paths.push_back(path);
  }
  return paths;
}

}  // namespace

void remove_dead_parts(const std::string& folder) {
  const std::string ending = "." + os::node_name() + ".part";
  for (const std::string& path : files_that_end_with(ending, folder)) {
    const os::LockTry attempt = os::try_lock(path);  // held while it is removed
    if (attempt.lock) unlink(path.c_str());
  }
}

namespace {

constexpr char kAllIsWell = '.';
constexpr std::int64_t kEndLimitNs = 1'000'000'000;
// One that is being killed may be in the kernel for long, and so may what its scripts have started.
constexpr std::int64_t kSweepLimitNs = 60'000'000'000;

// What warns a whole job does not end it.
void outlive_others() {
  os::close_from(os::kReportFd + 1);
  os::stand_apart();
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2}) signal(number, SIG_IGN);
}

bool has_ended_well() {
  char word = 0;
  ssize_t got = 0;
  do {
    got = read(os::kReportFd, &word, 1);
  } while (got < 0 && errno == EINTR);
  return got == 1 && word == kAllIsWell;
}

}  // namespace

ScriptGuard::~ScriptGuard() {
  if (pid_ <= 0) return;
  os::send_all(line_.get(), &kAllIsWell, 1, os::now_ns() + kEndLimitNs);
  if (os::reap(pid_, kEndLimitNs)) return;
  kill(pid_, SIGKILL);  // somebody has stopped it
  os::reap(pid_, kEndLimitNs);
}

std::string ScriptGuard::ensure() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (pid_ > 0 && !os::reap(pid_, 0)) return "";
  pid_ = -1;
  Result<std::pair<os::UniqueFd, os::UniqueFd>> ends = os::stream_pair();
  if (!ends) return ends.error().message;
  const Result<pid_t> started =
      os::start({os::path_beside_program("leatd"), "--guard-scripts", std::to_string(getpid())},
                {{ends->second.get(), os::kReportFd}});
  if (!started) return started.error().message;
  pid_ = *started;
  line_ = std::move(ends->first);
  return "";
}

int guard_scripts(pid_t guarded) {
  outlive_others();
  if (has_ended_well()) return 0;
  // Families are orphaned when their maker is dead, which comes after the end of the line.
  const os::Deadline deadline = os::Deadline::in_ns(kSweepLimitNs);
  for (bool any = true; any && !deadline.passed(); os::pause_shortly()) {
    const bool is_dead = getppid() != guarded;
    any = os::end_orphaned_families() > 0 || !is_dead;
  }
  return 0;
}

namespace {

namespace fs = std::filesystem;

// A run that is just ending has its names still.
constexpr std::int64_t kWaitForNameNs = 2'000'000'000;

}  // namespace

// Each server has scripts of its own, and on a shared disk it needs a folder of its own, as ledgers are: "pics-node7.1".
ScriptOutput::ScriptOutput(const model::Model& model, const RunFacts& facts,
                           const std::string& folder)
    : session_(facts.session),
      resumed_(facts.resumed),
      is_named_(model.scripts.output != model.name + "-scripts") {
  std::string name = fs::path(model.scripts.output).lexically_normal().string();
  while (name.size() > 1 && name.ends_with('/')) name.pop_back();
  if (!facts.has_all_ranks()) name += "-" + numbered_node(os::host_name(), facts.node_number);
  name = node::name_of_server(name, facts.server);
  path_ = fs::absolute((fs::path(folder) / name).lexically_normal()).string();
}

// Pictures of an earlier run must not stand among those of this one. A folder that the user named
// may hold other things, and stays as it is. That of a run in progress is not touched.
void ScriptOutput::take(Log& log) {
  own_ = OwnName(path_, session_, resumed_, kWaitForNameNs);
  path_ = own_.path();
  if (!own_.why_another().empty()) log.warn("scripts: {}", own_.why_another());
  remove_dead_parts();
  std::error_code error;
  if (resumed_ || is_named_ || !fs::is_directory(path_, error)) return;
  std::string aside;
  int number = 1;
  do {
    aside = path_ + "." + std::to_string(number++);
  } while (fs::exists(aside, error));
  fs::rename(path_, aside, error);
  if (!error) log.info("{} was there already and is called {} now", path_, aside);
}

void ScriptOutput::remove_dead_parts() const { server::remove_dead_parts(path_); }

std::string ScriptOutput::append(const std::string& name, const std::string& text,
                                 const std::string& head) const {
  std::error_code error;
  fs::create_directories(path_, error);
  const os::Folder folder(path_);
  return folder.append(name, folder.exists(name) ? text : head + text);
}

namespace {

constexpr const char* kAuditTrail = "steering.csv";

// A field of a CSV file, by RFC 4180.
std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string field = "\"";
  for (const char c : text) field += c == '"' ? std::string("\"\"") : std::string(1, c);
  return field + "\"";
}

}  // namespace

void ScriptSteering::ask(SteeringRequest request) {
  const std::lock_guard<std::mutex> lock(mutex_);
  requests_.push_back(std::move(request));
}

std::vector<SteeringRequest> ScriptSteering::take() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(requests_, {});
}

void ScriptSteering::note(const AuditEntry& entry) {
  const std::lock_guard<std::mutex> lock(mutex_);
  notes_.push_back(entry);
}

bool ScriptSteering::has_notes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return !notes_.empty();
}

void ScriptSteering::write_notes(const ScriptOutput& output, Log& log) {
  std::vector<AuditEntry> entries;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    entries.swap(notes_);
  }
  if (entries.empty()) return;
  std::ostringstream lines;
  for (const AuditEntry& entry : entries) {
    lines << entry.iteration << ',' << entry.parameter << ',' << quoted(entry.old_value) << ','
          << quoted(entry.new_value) << ',' << entry.who << '\n';
  }
  const std::string why =
      output.append(kAuditTrail, lines.str(), "iteration,parameter,from,to,script\n");
  if (!why.empty())
    log.error("cannot write the audit trail of steering, {}/{}: {}", output.path(), kAuditTrail,
              why);
}

}  // namespace leat::server

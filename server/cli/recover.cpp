// SPDX-License-Identifier: Apache-2.0
// `leat recover`: stores what killed sessions have in memory, and finishes the commit of a killed writer.

#include <algorithm>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "lib/base/text.hpp"
#include "lib/node/runtime_folder.hpp"
#include "lib/node/stale_resources.hpp"
#include "lib/os/child_process.hpp"
#include "lib/os/process.hpp"
#include "lib/shm/undrained.hpp"
#include "server/cli/drain.hpp"
#include "server/cli/ls_files.hpp"
#include "server/cli/programs.hpp"
#include "server/cli/verbs.hpp"

namespace leat::cli {
namespace {

namespace fs = std::filesystem;

bool is_same(const fs::path& a, const fs::path& b) {
  std::error_code error;
  return fs::equivalent(a, b, error);
}

// A store's folder may lie below that of its run, or elsewhere: then the session tells.
bool may_belong(const fs::path& file, const std::string& session_of_file,
                const KilledSession& one) {
  if (one.what.session == session_of_file) return true;
  std::error_code error;
  for (fs::path folder = fs::canonical(file, error).parent_path(); !folder.empty();
       folder = folder.parent_path()) {
    if (is_same(folder, one.folder())) return true;
    if (folder == folder.parent_path()) return false;
  }
  return false;
}

class Recover {
 public:
  explicit Recover(std::string name) : name_(std::move(name)), killed_(killed_sessions()) {}

  /// --watch: stores what is killed from now on, until it is told to end and no session is left.
  int watch();

  int run() {
    std::error_code error;
    const bool is_folder = fs::is_directory(name_, error);
    // Also what is no file, which the store's own program refuses by its name.
    if (!is_folder && fs::exists(fs::symlink_status(name_, error))) return file();
    store_where([&](const KilledSession& each) {
      return name_.empty() || (is_folder && is_same(name_, each.folder())) ||
             each.what.session == name_ || (each.held.run && each.held.run->session == name_);
    });
    // A process that was killed while it stored all has left files that hold nothing.
    if (name_.empty() && stored_ == 0)
      node::sweep({node::runtime_folder_name()}, node::Sweep::remove, shm::must_stay);
    if (stored_ > 0) return exit_code_;
    if (name_.empty() || is_folder) {
      print("no session was killed with data in memory on this node" +
            (is_folder ? ", of " + name_ : "") + "\n");
      return kGood;
    }
    return unknown();
  }

 private:
  int file() {
    const std::string session = killed_.empty() ? "" : session_of_file();
    store_where([&](const KilledSession& each) { return may_belong(name_, session, each); });
    return exit_code_ == kGood ? exec_store_program("recover", {name_}) : exit_code_;
  }

  // "" when nothing can say.
  std::string session_of_file() const {
    constexpr std::int64_t kLimitNs = 30'000'000'000;
    const Result<std::string> told =
        os::run_program({state_program(), "--inside", name_}, "", kLimitNs);
    if (!told) return "";
    const std::size_t end = told->find('\n');
    const Json inside = Json::parse(told->substr(end + 1), nullptr, false);
    return inside.is_object() ? inside.value("session", "") : "";
  }

  void store_where(const std::function<bool(const KilledSession&)>& is_meant) {
    std::vector<KilledSession*> meant;
    for (KilledSession& each : killed_)
      if (is_meant(each)) meant.push_back(&each);
    drain(meant);
    for (const KilledSession* each : meant) say(*each);
  }

  void say(const KilledSession& one) {
    ++stored_;
    const bool good = one.outcome == "stored" && one.lost == 0;
    if (good)
      print(sentence(json_of(one)) + "\n");
    else
      exit_code_ = refuse("recover", sentence(json_of(one)));
  }

  int unknown() const {
    std::vector<std::string> names;
    for (const KilledSession& each : killed_) names.push_back(each.what.session);
    return refuse("recover", "there is no file \"" + name_ +
                                 "\", and no session of this name was killed with data in memory "
                                 "on this node" +
                                 did_you_mean(name_, names));
  }

  std::string name_;
  std::vector<KilledSession> killed_;
  int stored_ = 0;
  int exit_code_ = kGood;
};

// A batch system ends all processes of a job step when its ranks have died, the server among them. This process is in another
// step, or in one that waits for it. Grid Engine warns a job of its end by SIGUSR2. The signals that end it are taken between two looks only; so are those that a terminal or a reader of its words sends
// when it goes away: what is in memory is worth more.
class EndSignals {
 public:
  EndSignals() {
    sigemptyset(&set_);
    for (const int each : {SIGTERM, SIGUSR1, SIGUSR2, SIGHUP}) sigaddset(&set_, each);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
  }

  bool came_within(long nanoseconds) {
    const timespec wait{nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
    return sigtimedwait(&set_, nullptr, &wait) > 0;
  }

 private:
  sigset_t set_;
};

bool any_session_lives() {
  return !node::sweep({node::runtime_folder_name()}, node::Sweep::look, shm::must_stay)
              .alive.empty();
}

int Recover::watch() {
  constexpr long kIdleNs = 500'000'000, kEndingNs = 50'000'000;
  EndSignals signals;
  std::set<std::string> tried;  // those that could not be stored stay in memory
  for (bool told = false;;) {
    // Asked first: a session that is killed in between is found in the next round.
    const bool one_lives = any_session_lives();
    killed_ = killed_sessions();
    store_where([&](const KilledSession& each) { return tried.insert(each.what.segment).second; });
    if (told && !one_lives) break;
    told |= signals.came_within(told ? kEndingNs : kIdleNs);
  }
  node::sweep({node::runtime_folder_name()}, node::Sweep::remove, shm::must_stay);
  return exit_code_;
}

}  // namespace

void add_recover(CLI::App& app, int& exit_code) {
  const auto name = std::make_shared<std::string>();
  CLI::App* verb = app.add_subcommand("recover",
                                      "Stores what a killed session has in memory, and finishes "
                                      "the commit in which the writer of a "
                                      "file was killed. The next run does both too.");
  CLI::Option* file = verb->add_option(
      "NAME", *name,
      "What a store of type hdf5 has written, the folder of a run, or the name of a "
      "session; without it all killed sessions of this node");
  const auto watch = std::make_shared<bool>(false);
  verb->add_flag("--watch", *watch,
                 "Stay, and store what is killed from now on. SIGTERM, SIGUSR1 or SIGUSR2 ends it "
                 "as soon as "
                 "no session of yours is on this node. For job files")
      ->excludes(file);
  verb->footer(
      "Exit codes: 0 the file is good, all is stored; 1 it is not, or a run is writing it; 2 the "
      "command line is wrong; 3 the last commit could not be finished, and the journal is kept.");
  verb->callback([name, watch, &exit_code] {
    Recover recover(*name);
    exit_code = *watch ? recover.watch() : recover.run();
  });
}

}  // namespace leat::cli

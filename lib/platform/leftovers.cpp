// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/leftovers.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>

#include "lib/platform/clock.hpp"
#include "lib/platform/file_lock.hpp"
#include "lib/platform/local_socket.hpp"
#include "lib/platform/process.hpp"
#include "lib/platform/runtime_folder.hpp"
#include "lib/platform/segment_name.hpp"
#include "lib/platform/spill_folder.hpp"

namespace leat::platform {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; entry != end; entry.increment(error)) {
    if (error) break;
    names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

struct OwnFile {
  bool there = false;
  std::uint64_t bytes = 0;
};

OwnFile own_file(const std::string& path) {
  struct stat found {};
  const bool ours = lstat(path.c_str(), &found) == 0 && found.st_uid == geteuid();
  return ours ? OwnFile{true, static_cast<std::uint64_t>(found.st_size)} : OwnFile{};
}

class Sweeper {
 public:
  Sweeper(const Places& places, Sweep what) : places_(places), what_(what) {}

  Findings run() {
    for (const std::string& name : names_in(places_.shared_memory)) look_at_segment(name);
    for (const std::string& session : sessions({".live", ".sock", ".journal", ".spill"})) {
      if (!has_living_segment(session)) look_at_session(session);
    }
    for (const std::string& session : sessions({".lock"})) look_at_start(session);
    return std::move(findings_);
  }

 private:
  std::set<std::string> sessions(const std::vector<std::string>& suffixes) const {
    std::set<std::string> found;
    for (const std::string& name : names_in(places_.runtime_folder)) {
      for (const std::string& suffix : suffixes) {
        if (!name.ends_with(suffix)) continue;
        const std::string session = name.substr(0, name.size() - suffix.size());
        if (valid_session_name(session)) found.insert(session);
      }
    }
    return found;
  }

  void look_at_segment(const std::string& file) {
    const std::optional<SegmentName> name = own_segment_name(file);
    const std::string path = places_.shared_memory + "/" + file;
    const OwnFile segment = own_file(path);
    if (!name || !segment.there) return;
    const LockTry attempt = try_lock(path);
    if (attempt.held || lives(name->maker)) {
      findings_.alive.push_back({name->session, path, segment.bytes, name->maker});
    } else if (attempt.lock) {
      leftover("segment", name->session, path, segment.bytes);
    }
  }

  // Its ranks live: what lies in the runtime folder is needed by the server that takes over.
  bool has_living_segment(const std::string& session) const {
    return std::any_of(findings_.alive.begin(), findings_.alive.end(),
                       [&](const LiveOne& one) { return one.session == session; });
  }

  void look_at_session(const std::string& session) {
    const SessionFiles files = session_files(places_.runtime_folder, session);
    const LockTry attempt = try_lock(files.live);
    if (attempt.held || somebody_listens(files.socket)) {
      note_alive(session, files.live);
    } else if (attempt.lock) {
      look_at_spill(session, files.spill);
      leftover("socket", session, files.socket);
      leftover("journal", session, files.journal);
      leftover("live file", session, files.live);
    } else {
      look_without_live_file(session, files);
    }
  }

  // Something has removed its <session>.live. Whoever removes the rest has to hold that lock all
  // the same, since a server may be starting.
  void look_without_live_file(const std::string& session, const SessionFiles& files) {
    UniqueFd lock;
    if (what_ == Sweep::remove && !(lock = lock_file(files.live, 0))) return;
    look_at_spill(session, files.spill);
    leftover("socket", session, files.socket);
    leftover("journal", session, files.journal);
    if (lock) unlink(files.live.c_str());
  }

  // The folder may lie anywhere; it is known by the link.
  void look_at_spill(const std::string& session, const std::string& link) {
    const FoundSpill found = find_spill(link, session);
    if (found.alive) return;
    if (!found.path.empty()) {
      Leftover folder{"spill folder", session, found.path, found.bytes, ""};
      if (what_ == Sweep::remove) folder.problem = remove_spill(found.path);
      findings_.dead.push_back(folder);
      if (!folder.problem.empty()) return;  // the link stays, for the next one who tries
    }
    leftover("spill link", session, link);
  }

  // Left by a client that was killed while it started a server; one that starts it now holds it.
  void look_at_start(const std::string& session) {
    const std::string path = session_files(places_.runtime_folder, session).lock;
    const LockTry attempt = try_lock(path);
    if (attempt.lock) leftover("start lock", session, path);
  }

  void note_alive(const std::string& session, const std::string& live_file) {
    std::string segment;
    std::ifstream(live_file) >> segment;
    const std::optional<SegmentName> name = own_segment_name(segment);
    const auto known = [&](const LiveOne& one) {
      return one.session == session && (!name || one.server.pid == name->maker.pid);
    };
    if (std::any_of(findings_.alive.begin(), findings_.alive.end(), known)) return;
    findings_.alive.push_back({session, "", 0, name ? name->maker : ProcessId{}});
  }

  // The caller holds the lock that says that it is dead.
  void leftover(const std::string& kind, const std::string& session, const std::string& path,
                std::uint64_t bytes = 0) {
    if (!own_file(path).there) return;
    Leftover found{kind, session, path, bytes, ""};
    if (what_ == Sweep::remove && unlink(path.c_str()) != 0) found.problem = errno_text(errno);
    findings_.dead.push_back(std::move(found));
  }

  const Places& places_;
  Sweep what_;
  Findings findings_;
};

// A process that is ending lets its locks go a moment before it is gone.
bool has_ended(const ProcessId& process) {
  constexpr std::int64_t kEndingNs = 100'000'000;
  for (const std::int64_t until = now_ns() + kEndingNs; lives(process); pause_shortly()) {
    if (now_ns() > until) return false;
  }
  return true;
}

}  // namespace

std::string orphaned_segment(const Places& places, const std::string& session,
                             const std::string& wanted) {
  for (const std::string& file : names_in(places.shared_memory)) {
    const std::optional<SegmentName> name = own_segment_name(file);
    if (!name || name->session != session || (!wanted.empty() && file != wanted)) continue;
    if (!some_byte_is_locked(places.shared_memory + "/" + file)) continue;
    // Its own ranks know that the server of what is wanted has died.
    if (!wanted.empty() || has_ended(name->maker)) return file;
  }
  return "";
}

Findings sweep(const Places& places, Sweep what) { return Sweeper(places, what).run(); }

}  // namespace leat::platform

// SPDX-License-Identifier: Apache-2.0
#include "lib/node/stale_resources.hpp"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>

#include "lib/node/output_folders.hpp"
#include "lib/node/runtime_folder.hpp"
#include "lib/os/clock.hpp"
#include "lib/os/file_lock.hpp"
#include "lib/os/local_socket.hpp"
#include "lib/os/process.hpp"

namespace leat::node {
namespace {

namespace fs = std::filesystem;

constexpr time_t kDay = 86400;
constexpr std::int64_t kToTheEnd = 0;  // of a file, wherever that is
// For how long one sweep waits for others that look at the same files.
constexpr std::int64_t kOthersLookNs = 500'000'000;

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
  Sweeper(const SearchFolders& places, Sweep what, const MustStay& must_stay)
      : places_(places), what_(what), must_stay_(must_stay) {}

  Findings run() {
    for (const std::string& name : names_in(places_.shared_memory)) look_at_segment(name);
    std::sort(findings_.undrained.begin(), findings_.undrained.end(), is_older);
    std::sort(findings_.being_stored.begin(), findings_.being_stored.end(), is_older);
    for (const std::string& session : sessions({".live", ".sock", ".control"})) {
      if (!has_living_segment(session)) look_at_session(session);
    }
    for (const std::string& name : names_in(places_.shared_memory)) look_at_sums(name);
    for (const std::string& stem : stems({".journal", ".spill"})) look_at_files_of(stem);
    for (const std::string& session : sessions({".lock"})) look_at_start(session);
    for (const std::string& session : sessions({".late"})) look_at_late_ranks(session);
    for (const std::string& session : sessions({".ranks"})) look_at_ranks(session);
    return std::move(findings_);
  }

 private:
  std::set<std::string> stems(const std::vector<std::string>& suffixes) const {
    std::set<std::string> found;
    for (const std::string& name : names_in(places_.runtime_folder)) {
      for (const std::string& suffix : suffixes) {
        if (name.ends_with(suffix)) found.insert(name.substr(0, name.size() - suffix.size()));
      }
    }
    return found;
  }

  std::set<std::string> sessions(const std::vector<std::string>& suffixes) const {
    std::set<std::string> found = stems(suffixes);
    std::erase_if(found, [](const std::string& name) { return !valid_session_name(name); });
    return found;
  }

  void look_at_segment(const std::string& file) {
    const std::optional<SegmentName> name = own_segment_name(file);
    const std::string path = places_.shared_memory + "/" + file;
    const OwnFile segment = own_file(path);
    if (!name || !segment.there) return;
    const os::LockTry attempt = lock_of(path);
    // A lock that is just being shared is free for a moment: then its server's byte is not.
    const bool held =
        attempt.held || (attempt.lock && os::bytes_are_locked(attempt.lock, 0, kToTheEnd));
    if (held) {
      findings_.alive.push_back({name->session, path, segment.bytes, name->maker});
      const os::UniqueFd there = os::open_there(path);
      if (must_stay_ && there && !os::bytes_are_locked(there, 0, kToTheEnd))
        findings_.being_stored.push_back({name->session, file, segment.bytes, true});
    } else if (attempt.lock && must_stay_ && must_stay_(file)) {
      findings_.undrained.push_back({name->session, file, segment.bytes, false});
    } else if (attempt.lock) {
      stale("segment", name->session, path, segment.bytes);
      removed_.insert(file);
    }
  }

  // Another sweep, of whatever runtime folder, has it for a moment and may leave what is ours: it is
  // waited for. Who lives has a byte of the file as well, and is not; who stores what is in it is
  // waited for in vain.
  os::LockTry lock_of(const std::string& path) const {
    for (;;) {
      os::LockTry attempt = os::try_lock(path);
      if (!attempt.held || others_look_.passed()) return attempt;
      const os::UniqueFd file = os::open_there(path);
      if (file && os::bytes_are_locked(file, 0, kToTheEnd)) return attempt;
      os::pause_shortly();
    }
  }

  static bool is_older(const UndrainedOne& a, const UndrainedOne& b) {
    return own_segment_name(a.segment)->maker.start < own_segment_name(b.segment)->maker.start;
  }

  // They are made after their segment, and go after it.
  void look_at_sums(const std::string& file) {
    constexpr std::string_view kEnd = ".sums";
    if (!file.ends_with(kEnd)) return;
    const std::string segment = file.substr(0, file.size() - kEnd.size());
    const std::optional<SegmentName> name = own_segment_name(segment);
    if (!name || is_in_use(segment)) return;
    const std::string path = places_.shared_memory + "/" + file;
    stale("sums", name->session, path, own_file(path).bytes);
  }

  bool is_in_use(const std::string& segment) const {
    return own_file(places_.shared_memory + "/" + segment).there && removed_.count(segment) == 0;
  }

  void look_at_files_of(const std::string& stem) {
    const std::string segment = segment_of(stem);
    const std::optional<SegmentName> name = own_segment_name(segment);
    if (!name) return;
    if (is_in_use(segment)) return;
    const SegmentFiles files = segment_files(places_.runtime_folder, stem);
    look_at_spill(name->session, stem, files.spill);
    stale("journal", name->session, files.journal);
  }

  // Its ranks live: what lies in the runtime folder is needed by the server that takes over.
  bool has_living_segment(const std::string& session) const {
    return std::any_of(findings_.alive.begin(), findings_.alive.end(),
                       [&](const LiveOne& one) { return one.session == session; });
  }

  void look_at_session(const std::string& session) {
    const SessionFiles files = session_files(places_.runtime_folder, session);
    const os::LockTry attempt = lock_of(files.live);
    if (attempt.held || os::somebody_listens(files.socket)) {
      note_alive(session, files.live);
    } else if (attempt.lock) {
      stale("socket", session, files.socket);
      stale("control socket", session, files.control);
      stale("live file", session, files.live);
    } else {
      look_without_live_file(session, files);
    }
  }

  // Something has removed its <session>.live. Whoever removes the rest has to hold that lock all
  // the same, since a server may be starting.
  void look_without_live_file(const std::string& session, const SessionFiles& files) {
    os::UniqueFd lock;
    if (what_ == Sweep::remove && !(lock = os::lock_file(files.live, 0))) return;
    stale("socket", session, files.socket);
    stale("control socket", session, files.control);
    if (lock) unlink(files.live.c_str());
  }

  // The folder may lie anywhere; it is known by the link.
  void look_at_spill(const std::string& session, const std::string& stem, const std::string& link) {
    const FoundSpill found = find_spill(link, stem);
    if (found.alive) return;
    if (!found.path.empty()) {
      StaleResource folder{"spill folder", session, found.path, found.bytes, ""};
      if (what_ == Sweep::remove) folder.problem = remove_spill(found.path);
      findings_.dead.push_back(folder);
      if (!folder.problem.empty()) return;  // the link stays, for the next one who tries
    }
    stale("spill link", session, link);
  }

  // Left by a client that was killed while it started a server; one that starts it now holds it.
  void look_at_start(const std::string& session) {
    const std::string path = session_files(places_.runtime_folder, session).lock;
    const os::LockTry attempt = os::try_lock(path);
    if (attempt.lock) stale("start lock", session, path);
  }

  // Who was stopped for longer than that is not expected any more.
  void look_at_late_ranks(const std::string& session) {
    const std::string path = session_files(places_.runtime_folder, session).late;
    struct stat found {};
    const bool old = lstat(path.c_str(), &found) == 0 && found.st_mtime + kDay < time(nullptr);
    if (old) stale("note of late ranks", session, path);
  }

  // Of servers that were killed. One that is just starting does without.
  void look_at_ranks(const std::string& session) {
    const std::string path = session_files(places_.runtime_folder, session).ranks;
    const os::UniqueFd file = os::open_there(path);
    if (file && !os::bytes_are_locked(file, 0, kToTheEnd)) stale("note of ranks", session, path);
  }

  void note_alive(const std::string& session, const std::string& live_file) {
    std::string segment;
    std::ifstream(live_file) >> segment;
    const std::optional<SegmentName> name = own_segment_name(segment);
    const auto known = [&](const LiveOne& one) {
      return one.session == session && (!name || one.maker.pid == name->maker.pid);
    };
    if (std::any_of(findings_.alive.begin(), findings_.alive.end(), known)) return;
    findings_.alive.push_back({session, "", 0, name ? name->maker : os::ProcessId{}});
  }

  // The caller holds the lock that says that it is dead.
  void stale(const std::string& kind, const std::string& session, const std::string& path,
             std::uint64_t bytes = 0) {
    if (!own_file(path).there) return;
    StaleResource found{kind, session, path, bytes, ""};
    if (what_ == Sweep::remove && unlink(path.c_str()) != 0) found.problem = os::errno_text(errno);
    findings_.dead.push_back(std::move(found));
  }

  const SearchFolders& places_;
  Sweep what_;
  const MustStay& must_stay_;
  const os::Deadline others_look_ = os::Deadline::in_ns(kOthersLookNs);
  std::set<std::string> removed_;  // segments, or to be removed
  Findings findings_;
};

}  // namespace

Result<Orphan> orphaned_segment(const SearchFolders& places, const std::string& name,
                                std::int64_t timeout_ns) {
  const std::string path = places.shared_memory + "/" + name;
  if (!own_segment_name(name) || !own_file(path).there) return Orphan{};
  os::UniqueFd file = os::open_there(path);
  if (!file || !os::bytes_are_locked(file, 0, kServerByte)) return Orphan{};
  if (!os::lock_byte(file, kServerByte, timeout_ns)) {
    return Error{Status::ERROR_TIMEOUT, "the server of segment " + name + " lives"};
  }
  // Its last rank may have ended meanwhile, and others may have removed it.
  if (!os::bytes_are_locked(file, 0, kServerByte) || !os::still_there(file, path)) return Orphan{};
  return Orphan{name, std::move(file)};
}

Findings sweep(const SearchFolders& places, Sweep what, const MustStay& must_stay) {
  return Sweeper(places, what, must_stay).run();
}

}  // namespace leat::node

// SPDX-License-Identifier: Apache-2.0
#include "server/group/folder_group.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <utility>

#include "lib/platform/clock.hpp"
#include "lib/platform/file_lock.hpp"
#include "lib/platform/memory_file.hpp"
#include "lib/platform/process.hpp"

namespace leat::server {
namespace {

namespace fs = std::filesystem;

constexpr const char *kSaid = ".said", *kLast = ".last";
constexpr std::uintmax_t kMostSaid = 16 << 20;
constexpr std::int64_t kSayLockNs = 1'000'000'000;
// Nobody who is at work has it for so long: it is stopped.
constexpr std::int64_t kSilenceLockNs = 1'000'000'000;
constexpr auto kKept = std::chrono::hours(24);

// Of the newest file in it.
bool is_old(const fs::path& folder) {
  std::error_code error;
  const auto is_new = [&](const fs::path& path) {
    return fs::last_write_time(path, error) > fs::file_time_type::clock::now() - kKept;
  };
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (is_new(entry->path())) return false;
  }
  return !error && !is_new(folder) && !error;
}

void remove_old(const fs::path& parent) {
  std::error_code error;
  for (fs::directory_iterator entry(parent, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code other;
    const bool is_folder = fs::is_directory(entry->symlink_status(other));
    if (is_folder && is_old(entry->path())) fs::remove_all(entry->path(), other);
  }
}

std::string make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  return path;
}

// What follows the last end of a line is of somebody who was killed while he wrote it.
std::string first_line(const std::string& text) {
  const std::size_t end = text.find('\n');
  return end == std::string::npos ? "" : text.substr(0, end);
}

// Of a file that is replaced meanwhile it may be a part, or nothing, which is no line.
std::string line_in(const platform::UniqueFd& file, const std::string& path) {
  std::error_code error;
  const std::uintmax_t bytes = file ? fs::file_size(path, error) : 0;
  if (error || bytes == 0) return "";
  return first_line(platform::text_of(file.get(), std::min(bytes, kMostSaid)));
}

std::string read_line(const std::string& path) { return line_in(platform::open_there(path), path); }

enum class Locked { yes, by_another, not_here };

// Where a file system has no locks, it is gone on without.
Locked lock(const platform::UniqueFd& file, std::int64_t limit_ns) {
  if (!file) return Locked::not_here;
  for (const platform::Deadline deadline = platform::Deadline::in_ns(limit_ns);
       !platform::lock_now(file); platform::pause_shortly()) {
    if (errno != EWOULDBLOCK) return Locked::not_here;
    if (deadline.passed()) return Locked::by_another;
  }
  return Locked::yes;
}

}  // namespace

FolderGroup::FolderGroup(const std::string& folder, const std::string& simulation,
                         const std::string& session, std::string self)
    : parent_((fs::absolute(folder).lexically_normal() / (simulation + ".group")).string()),
      path_((fs::path(parent_) / session).string()),
      self_(std::move(self)),
      folder_(make_folder(path_)),
      servers_{self_} {
  remove_old(parent_);
}

std::string FolderGroup::path_of(const std::string& server, const char* ending) const {
  return path_ + "/" + server + ending;
}

// With the lock: who silences this one does so with this line, or has done it before.
std::string FolderGroup::say(const std::string& line) {
  const std::string last = path_of(self_, kLast);
  platform::UniqueFd file = platform::open_to_write(last);
  if (!file) {
    make_folder(path_);
    file = platform::open_to_write(last);
  }
  if (!file) return "cannot make " + last + ": " + platform::errno_text(errno);
  if (lock(file, kSayLockNs) == Locked::by_another)
    return last + " is locked by a server that is stopped";
  const std::string why = folder_.write_whole(self_ + kSaid, line + "\n");
  return why.empty() ? "" : why + ", in " + path_;
}

// The folder may be told late of new files; those that are known are opened, and so are fresh.
void FolderGroup::look_for_others() {
  std::error_code error;
  for (fs::directory_iterator entry(path_, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with('.') && name.ends_with(kSaid))
      servers_.insert(name.substr(0, name.size() - std::string(kSaid).size()));
  }
}

// In this order: what it says after it was silenced is not taken for what counts.
std::vector<Said> FolderGroup::hear() {
  look_for_others();
  std::vector<Said> all;
  for (const std::string& server : servers_) {
    const platform::UniqueFd file = platform::open_there(path_of(server, kSaid));
    if (!file) continue;
    std::string line = line_in(file, path_of(server, kSaid));
    all.push_back({server, std::move(line), read_line(path_of(server, kLast))});
  }
  return all;
}

// A server that is stopped may have the lock. What it says when it goes on comes after this, and so
// counts for nobody.
std::string FolderGroup::silence(const std::string& server) {
  const std::string last = path_of(server, kLast);
  const platform::UniqueFd file = platform::open_to_write(last);
  if (!file) return "cannot make " + last + ": " + platform::errno_text(errno);
  (void)lock(file, kSilenceLockNs);
  if (!line_in(file, last).empty()) return "";
  const std::string said = read_line(path_of(server, kSaid)) + "\n";
  const bool whole =
      ::ftruncate(file.get(), 0) == 0 &&
      ::pwrite(file.get(), said.data(), said.size(), 0) == static_cast<ssize_t>(said.size());
  return whole ? "" : "cannot write " + last + ": " + platform::errno_text(errno);
}

void FolderGroup::clear() {
  std::error_code error;
  fs::remove_all(path_, error);
  fs::remove(parent_, error);  // when it is empty
}

}  // namespace leat::server

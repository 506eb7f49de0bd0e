// SPDX-License-Identifier: Apache-2.0
#include "server/state/signals/group.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <utility>

#include "lib/os/descriptor.hpp"
#include "lib/os/file_lock.hpp"
#include "lib/os/process.hpp"

namespace leat::server {
namespace {

namespace fs = std::filesystem;

constexpr const char *kLine = ".line", *kClosing = ".closing", *kLast = ".last";
constexpr std::uintmax_t kMostLineBytes = 16 << 20;
constexpr auto kKeepFor = std::chrono::hours(24);

// Of the newest file in it.
bool is_old(const fs::path& folder) {
  std::error_code error;
  const auto is_new = [&](const fs::path& path) {
    return fs::last_write_time(path, error) > fs::file_time_type::clock::now() - kKeepFor;
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
std::string line_in(const os::UniqueFd& file, const std::string& path) {
  std::error_code error;
  const std::uintmax_t bytes = file ? fs::file_size(path, error) : 0;
  if (error || bytes == 0) return "";
  return first_line(os::text_of(file.get(), std::min(bytes, kMostLineBytes)));
}

std::string read_line(const std::string& path) { return line_in(os::open_there(path), path); }

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

std::string FolderGroup::publish(const std::string& line) {
  std::string why = folder_.write_whole(self_ + kLine, line + "\n");
  if (!why.empty()) {
    make_folder(path_);
    why = folder_.write_whole(self_ + kLine, line + "\n");
  }
  return why.empty() ? "" : why + ", in " + path_;
}

// The folder may be told late of new files; those that are known are opened, and so are fresh.
void FolderGroup::look_for_others() {
  std::error_code error;
  for (fs::directory_iterator entry(path_, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with('.') && name.ends_with(kLine))
      servers_.insert(name.substr(0, name.size() - std::string(kLine).size()));
  }
}

// The line is read first, then whether somebody silences its server: whoever does so reads the line after making the
// .closing file, and so finds the line that was taken here or a later one. From then on only the final line counts, which
// everybody who sees that it is missing helps to write.
std::vector<ServerLine> FolderGroup::poll() {
  look_for_others();
  std::vector<ServerLine> all;
  for (const std::string& server : servers_) {
    const os::UniqueFd file = os::open_there(path_of(server, kLine));
    if (!file) continue;
    std::string line = line_in(file, path_of(server, kLine));
    const bool is_closing = ::access(path_of(server, kClosing).c_str(), F_OK) == 0;
    if (!is_closing) {
      all.push_back({server, std::move(line)});
      continue;
    }
    (void)finish(server);
    const std::string last = read_line(path_of(server, kLast));
    all.push_back({server, last.empty() ? "" : std::move(line), last});
  }
  return all;
}

std::string FolderGroup::silence(const std::string& server) {
  const std::string closing = path_of(server, kClosing);
  if (!os::open_to_write(closing)) return "cannot make " + closing + ": " + os::errno_text(errno);
  return finish(server);
}

// A link is made by one only, on network file systems too: the first final line is that of all.
std::string FolderGroup::finish(const std::string& server) {
  const std::string last = path_of(server, kLast);
  if (!read_line(last).empty()) return "";
  const std::string own = "." + self_ + ".closes." + server;
  const std::string why = folder_.write_whole(own, read_line(path_of(server, kLine)) + "\n");
  if (!why.empty()) return why + ", in " + path_;
  const bool is_there = ::link((path_ + "/" + own).c_str(), last.c_str()) == 0 || errno == EEXIST;
  const std::string failed = is_there ? "" : os::errno_text(errno);
  folder_.remove(own);
  return is_there ? "" : "cannot make " + last + ": " + failed;
}

void FolderGroup::clear() {
  std::error_code error;
  fs::remove_all(path_, error);
  fs::remove(parent_, error);  // when it is empty
}

}  // namespace leat::server

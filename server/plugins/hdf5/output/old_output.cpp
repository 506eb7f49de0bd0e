// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output/old_output.hpp"

#include <chrono>
#include <stdexcept>
#include <thread>

#include "server/plugins/hdf5/conventions/nodes.hpp"
#include "server/plugins/hdf5/disk/journal.hpp"
#include "server/plugins/hdf5/view/make_view.hpp"

namespace leat::hdf5 {
namespace {

namespace fs = std::filesystem;

constexpr int kTriesForLock = 40;
constexpr std::chrono::milliseconds kPauseForLock(50);

// <name><addition><extension>: "run.h5" with ".1" is "run.1.h5".
fs::path with_addition(const fs::path& path, const std::string& addition) {
  return path.parent_path() / (path.stem().string() + addition + path.extension().string());
}

bool is_there(const fs::path& path) {
  return fs::symlink_status(path).type() != fs::file_type::not_found;
}

// Files of ours only, and the folders when nothing else is in them.
void remove_parts(const fs::path& folder) {
  if (folder.empty() || !fs::is_directory(folder)) return;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const bool is_ours = is_part(entry.path()) || entry.path().filename().string()[0] == '.';
    if (is_ours && entry.is_regular_file()) fs::remove(entry.path());
  }
  std::error_code not_empty;
  if (fs::remove(folder, not_empty)) fs::remove(folder.parent_path(), not_empty);
}

// What cannot be finished is kept as it is, and so is its journal.
void finish_old(const std::string& path, const Host& host) {
  const LastCommit commit = finish_last_commit(path);
  if (commit.was_finished())
    host.info(path + ": its last commit, in which its writer was killed, is finished now");
  if (commit.kind == LastCommit::Kind::not_finished)
    host.warn(path + ": the last commit of its writer, which was killed, cannot be finished: " +
              commit.why + ". It is kept as " + commit.kept);
}

}  // namespace

std::string of_session(const std::string& wanted, const leat_run& run) {
  return with_addition(wanted, std::string("-") + run.session);
}

std::string numbered(const std::string& path, int number) {
  return number == 0 ? path : with_addition(path, "." + std::to_string(number)).string();
}

fs::path unused_name(const fs::path& path) {
  for (int number = 1;; ++number) {
    fs::path name = numbered(path, number);
    if (!is_there(name)) return name;
  }
}

std::vector<std::string> names_set_aside(const fs::path& path) {
  std::vector<std::string> names;
  for (int number = 1;; ++number) {
    const std::string name = numbered(path, number);
    if (!is_there(name)) return names;
    names.push_back(name);
  }
}

fs::path set_aside(const std::string& path) {
  fs::path kept = unused_name(path);
  fs::rename(path, kept);
  if (is_there(journal_of(path))) fs::rename(journal_of(path), journal_of(kept));
  return kept;
}

std::optional<FileLock> lock_soon(const std::string& path) {
  for (int tries = 0;; ++tries) {
    std::optional<FileLock> lock = FileLock::take(path);
    if (lock || tries == kTriesForLock) return lock;
    std::this_thread::sleep_for(kPauseForLock);
  }
}

void make_room(const std::string& path, const std::string& exists, const Host& host) {
  if (!is_there(path)) return;
  if (fs::is_directory(fs::symlink_status(path)))
    throw std::runtime_error("cannot write " + path + ": it is a folder");
  if (!fs::is_symlink(path)) finish_old(path, host);
  if (exists == "replace") {
    const std::string parts = is_view_of_live_run(path) ? "" : parts_of_view(path);
    fs::remove(path);
    remove_parts(parts);
    return;
  }
  const fs::path kept = set_aside(path);
  host.info(path + " was there already and is called " + kept.string() + " now");
}

void move_away_part(const std::string& part, const std::string& exists, const Host& host) {
  const fs::path path = part;
  if (!is_there(path)) return;
  if (!fs::is_symlink(path)) finish_old(part, host);
  if (exists == "replace") {
    fs::remove(path);
    return;
  }
  for (int number = 1;; ++number) {
    const fs::path folder = path.parent_path().string() + "." + std::to_string(number);
    if (fs::exists(folder / path.filename())) continue;
    fs::create_directories(folder);
    fs::rename(path, folder / path.filename());
    host.warn(part + " was there already, of a run with the same session name, and lies in " +
              folder.string() + " now; `leat view` shows it: give each run its own LEAT_SESSION");
    return;
  }
}

void move_away_parts(const std::vector<std::string>& parts, const std::string& exists,
                     const Host& host) {
  for (const std::string& part : parts) move_away_part(part, exists, host);
}

bool is_view_of_live_run(const std::string& path) {
  const fs::path folder = parts_of_view(path);
  if (folder.empty() || !fs::is_directory(folder)) return false;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (is_part(entry.path()) && FileLock::is_taken(entry.path().string())) return true;
    // Who shares files has its own name locked all the time, and may have no file of it.
    const std::string name = entry.path().filename();
    const std::size_t end = name.rfind('.');
    if (begins_with(name, (std::string(".") + kPartBegin).c_str()) && end > 1 &&
        FileLock::is_taken((folder / fs::path(name.substr(1, end - 1))).string()))
      return true;
  }
  return false;
}

}  // namespace leat::hdf5

// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/old_output.hpp"

#include <chrono>
#include <stdexcept>
#include <thread>

#include "server/plugins/hdf5/disk/journal.hpp"
#include "server/plugins/hdf5/nodes.hpp"
#include "server/plugins/hdf5/view/make_view.hpp"
#include "server/plugins/hdf5/xdmf/sidecar.hpp"

namespace leat::hdf5 {
namespace {

namespace fs = std::filesystem;

constexpr int kTriesForLock = 40;
constexpr std::chrono::milliseconds kPauseForLock(50);

// <name><addition><extension>: "run.h5" with ".1" is "run.1.h5".
fs::path with_addition(const fs::path& path, const std::string& addition) {
  return path.parent_path() / (path.stem().string() + addition + path.extension().string());
}

fs::path unused_name(const fs::path& path) {
  for (int number = 1;; ++number) {
    const fs::path name = with_addition(path, "." + std::to_string(number));
    if (!fs::exists(name)) return name;
  }
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

}  // namespace

std::string of_session(const std::string& wanted, const leat_run& run) {
  return with_addition(wanted, std::string("-") + run.session);
}

fs::path set_aside(const std::string& path) {
  const fs::path kept = unused_name(path);
  xdmf::set_aside_sidecar(path, kept);
  fs::rename(path, kept);
  if (fs::exists(journal_of(path))) fs::rename(journal_of(path), journal_of(kept));
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
  if (!fs::exists(path)) return xdmf::remove_sidecar(path);  // of a file that somebody removed
  if (finish_last_commit(path))
    host.info(path + ": its last commit, in which its writer was killed, is finished now");
  if (fs::is_directory(path)) throw std::runtime_error("cannot write " + path + ": it is a folder");
  if (exists == "replace") {
    const std::string parts = is_view_of_live_run(path) ? "" : parts_of_view(path);
    xdmf::remove_sidecar(path);
    fs::remove(path);
    remove_parts(parts);
    return;
  }
  const fs::path kept = set_aside(path);
  host.info(path + " was there already and is called " + kept.string() + " now");
}

void move_away_part(const std::string& part, const std::string& exists, const Host& host) {
  const fs::path path = part;
  if (!fs::exists(path)) return;
  finish_last_commit(part);
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

bool is_view_of_live_run(const std::string& path) {
  const std::string folder = parts_of_view(path);
  if (folder.empty() || !fs::is_directory(folder)) return false;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (is_part(entry.path()) && !FileLock::take(entry.path())) return true;
  }
  return false;
}

}  // namespace leat::hdf5

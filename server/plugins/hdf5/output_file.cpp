// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output_file.hpp"

#include <chrono>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <thread>

#include "server/plugins/hdf5/h5_file.hpp"
#include "server/plugins/hdf5/journal.hpp"

namespace leat::hdf5 {
namespace {

namespace fs = std::filesystem;

constexpr int kTriesForLock = 40;
constexpr std::chrono::milliseconds kPauseForLock(50);

std::string value(const leat_run& run, const char* name, const std::string& otherwise) {
  return option(run.options, run.option_count, name, otherwise);
}

std::string wanted_path(const leat_run& run) {
  const std::string folder = value(run, "folder", ".");
  if (!fs::is_directory(folder)) {
    throw std::runtime_error("the output folder \"" + fs::absolute(folder).string() + "\" " +
                             (fs::exists(folder) ? "is not a folder" : "does not exist") +
                             ": make it before the run, or change folder=\"...\" of the store");
  }
  const std::string file = value(run, "file", std::string(run.simulation) + ".h5");
  return (fs::path(folder) / file).lexically_normal();
}

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

std::string of_session(const std::string& wanted, const leat_run& run) {
  return with_addition(wanted, std::string("-") + run.session);
}

// With its journal, which may have something for it. Returns the new name.
fs::path set_aside(const std::string& path) {
  const fs::path kept = unused_name(path);
  fs::rename(path, kept);
  if (fs::exists(journal_of(path))) fs::rename(journal_of(path), journal_of(kept));
  return kept;
}

// The lock of a process that is dying goes with it, which is a moment after others see it dead.
std::optional<FileLock> lock_soon(const std::string& path) {
  for (int tries = 0;; ++tries) {
    std::optional<FileLock> lock = FileLock::take(path);
    if (lock || tries == kTriesForLock) return lock;
    std::this_thread::sleep_for(kPauseForLock);
  }
}

void make_room(const std::string& path, const std::string& exists, const Host& host) {
  if (!fs::exists(path)) return;
  if (finish_last_commit(path))
    host.info(path + ": its last commit, in which its writer was killed, is finished now");
  if (fs::is_directory(path)) throw std::runtime_error("cannot write " + path + ": it is a folder");
  if (exists == "replace") {
    fs::remove(path);
    return;
  }
  const fs::path kept = set_aside(path);
  host.info(path + " was there already and is called " + kept.string() + " now");
}

// The lock of `*path`, or of another name when that is taken.
FileLock lock_for(std::string* path, const leat_run& run, const Host& host) {
  if (std::optional<FileLock> lock = FileLock::take(*path)) return std::move(*lock);
  const std::string wanted = *path;
  *path = of_session(wanted, run);
  host.warn(wanted + " is being written by another run; this run writes " + *path);
  if (std::optional<FileLock> lock = FileLock::take(*path)) return std::move(*lock);
  throw std::runtime_error(wanted + " and " + *path +
                           " are being written by others: give each store its own file=\"...\"");
}

}  // namespace

OutputFile::OutputFile(const leat_run& run, const Host& host) : host_(host) {
  const std::string wanted = wanted_path(run);
  if (leat_run_is_resumed(&run)) {
    if (find_own(run, of_session(wanted, run)) || find_own(run, wanted)) return;
    host_.warn(
        "the file that this run was writing before the server died is not there: it goes on in a "
        "new " +
        wanted);
  }
  take_new(run, wanted);
}

// Continues `path` when it is of this run.
bool OutputFile::find_own(const leat_run& run, const std::string& path) {
  if (!fs::is_regular_file(path)) return false;
  std::optional<FileLock> lock = lock_soon(path);
  if (!lock) return false;
  path_ = path;
  try {
    if (finish_last_commit(path))
      host_.info(path + ": the commit in which its writer was killed is finished now");
    const std::string session = session_of(path);
    continues_ = session == run.session;
    if (!continues_) host_.warn(path + " is of another run, of session " + session);
  } catch (const std::exception& e) {
    give_up_old(e.what());
  }
  if (continues_) lock_.emplace(std::move(*lock));
  return continues_;
}

void OutputFile::give_up_old(const std::string& why) {
  continues_ = false;
  const fs::path kept = set_aside(path_);
  host_.error(path_ + " cannot be continued, and is called " + kept.string() +
              " now; what comes goes into a new file: " + why);
}

void OutputFile::take_new(const leat_run& run, const std::string& wanted) {
  path_ = wanted;
  lock_.emplace(lock_for(&path_, run, host_));
  make_room(path_, value(run, "exists", "keep"), host_);
}

}  // namespace leat::hdf5

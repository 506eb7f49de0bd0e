// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output_file.hpp"

#include <filesystem>
#include <optional>
#include <stdexcept>

#include "server/plugins/hdf5/disk/journal.hpp"
#include "server/plugins/hdf5/h5_file.hpp"
#include "server/plugins/hdf5/nodes.hpp"
#include "server/plugins/hdf5/old_output.hpp"
#include "server/plugins/hdf5/options.hpp"

namespace leat::hdf5 {
namespace {

namespace fs = std::filesystem;

std::string value(const leat_run& run, const char* name, const std::string& otherwise) {
  return option(run.options, run.option_count, name, otherwise);
}

std::string wanted_path(const leat_run& run) {
  const std::string folder = value(run, "folder", ".");
  const std::string why = why_no_folder(folder);
  if (!why.empty()) throw std::runtime_error(why);
  const std::string file = value(run, "file", std::string(run.simulation) + ".h5");
  return (fs::path(folder) / file).lexically_normal();
}

// The lock of `*path`, or of another name when that is taken.
FileLock lock_for(std::string* path, const leat_run& run, const Host& host) {
  if (std::optional<FileLock> lock = FileLock::take(*path)) return std::move(*lock);
  const std::string wanted = *path;
  *path = of_session(wanted, run);
  host.warn(wanted + " is being written by another run" + FileLock::holder(wanted) +
            "; this run writes " + *path);
  if (std::optional<FileLock> lock = FileLock::take(*path)) return std::move(*lock);
  throw std::runtime_error(wanted + " and " + *path +
                           " are being written by others: give each store its own file=\"...\"");
}

}  // namespace

OutputFile::OutputFile(const leat_run& run, const Host& host) : host_(host) {
  if (is_one_of_several_nodes(run)) {
    take_part(run);
    return;
  }
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

// Nobody else writes it: what may be there is of this run, or of an older one whose session had the
// same name.
void OutputFile::take_part(const leat_run& run) {
  view_ = wanted_path(run);
  const std::string folder = folder_of_parts(view_, run.session);
  fs::create_directories(folder);
  const std::string path = fs::path(folder) / (name_of_part(leat_run_first_rank(&run)) + ".h5");
  if (leat_run_is_resumed(&run)) {
    if (find_own(run, path)) return;
    host_.warn(
        "the file that this run was writing before the server died is not there: it goes on in a "
        "new " +
        path);
  }
  path_ = path;
  std::optional<FileLock> lock = lock_soon(path);
  if (!lock)
    throw std::runtime_error(path + " is being written by another" + FileLock::holder(path) +
                             ": give the two runs different LEAT_SESSION names");
  lock_.emplace(std::move(*lock));
  move_away_part(path_, value(run, "exists", "keep"), host_);
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

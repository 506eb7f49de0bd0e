// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output/output_file.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <stdexcept>

#include "server/plugins/hdf5/conventions/nodes.hpp"
#include "server/plugins/hdf5/disk/journal.hpp"
#include "server/plugins/hdf5/output/earlier_parts.hpp"
#include "server/plugins/hdf5/output/h5_file.hpp"
#include "server/plugins/hdf5/output/old_output.hpp"
#include "server/plugins/hdf5/output/options.hpp"
#include "server/plugins/hdf5/output/pieces.hpp"

namespace leat::hdf5 {
namespace {

namespace fs = std::filesystem;

constexpr int kMostNames = 10'000;

std::string value(const leat_run& run, const char* name, const std::string& otherwise) {
  return option(run.options, run.option_count, name, otherwise);
}

// Of a run that has stored nothing yet in the file of an earlier one. Who finds it there when all of that run were killed knows that
// nobody has written to the file since.
std::string mark_of(const leat_run& run) {
  return std::string(run.session) + ' ' + std::to_string(leat_run_number(&run)) + '\n';
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
  take(run);
  wanted_ = path_;
  absolute_ = fs::absolute(path_);
}

OutputFile::OutputFile(const leat_run& run, const Host& host, const Shared& shared)
    : host_(host),
      path_(shared.path),
      view_(wanted_path(run)),
      wanted_(shared.path),
      absolute_(fs::absolute(shared.path)),
      is_shared_(true) {}

OutputFile::OutputFile(const Host& host, const Draft& draft)
    : host_(host),
      path_(draft.path),
      view_(draft.view),
      wanted_(draft.path),
      absolute_(fs::absolute(draft.path)),
      piece_(draft.piece),
      is_draft_(true) {}

OutputFile::OutputFile(const leat_run& run, const Host& host, const Piece& piece)
    : host_(host),
      path_(piece.path),
      view_(wanted_path(run)),
      wanted_(piece.path),
      absolute_(fs::absolute(piece.path)),
      piece_(piece) {
  std::optional<FileLock> lock = lock_soon(path_);
  if (!lock)
    throw std::runtime_error(path_ + " is being written by another run" + FileLock::holder(path_));
  hold(std::move(*lock));
  continues_ = !piece.is_earlier && fs::exists(fs::symlink_status(path_));
  if (piece.is_earlier) finish_earlier();
  if (!continues_) return;
  const LastCommit commit = finish_last_commit(path_);
  if (commit.kind == LastCommit::Kind::not_finished)
    give_up_old("the commit in which its writer was killed cannot be finished: " + commit.why +
                ". It is kept as " + commit.kept);
}

OutputFile::OutputFile(const leat_run& run, const Host& host, Spare) : host_(host) {
  take_part(run, false);
  wanted_ = path_;
  absolute_ = fs::absolute(path_);
}

bool OutputFile::lock() {
  std::optional<FileLock> lock = FileLock::take(path_);
  if (!lock) return false;
  hold(std::move(*lock));
  continues_ = fs::exists(fs::symlink_status(path_));
  if (!continues_) return true;
  const LastCommit commit = finish_last_commit(path_);
  if (commit.was_finished())
    host_.info(path_ + ": the commit in which a server was killed is finished now");
  if (commit.kind == LastCommit::Kind::not_finished)
    give_up_old("the commit in which a server was killed cannot be finished: " + commit.why +
                ". It is kept as " + commit.kept);
  return true;
}

void OutputFile::take(const leat_run& run) {
  if (is_one_of_several_nodes(run)) {
    take_part(run, true);
    return;
  }
  const std::string wanted = wanted_path(run);
  if (leat_run_is_resumed(&run)) {
    const bool is_last = FileLock::left_by(wanted) == mark_of(run);
    if (find_own_anywhere(run, wanted)) return;
    if (appends(run) && (is_last || !leat_run_is_drained(&run))) return take_to_append(run, wanted);
    const bool is_of_others = leat_run_is_drained(&run) && fs::exists(wanted);
    const std::string fresh = is_of_others ? unused_name(of_session(wanted, run)).string() : wanted;
    if (is_of_others && appends(run))
      host_.warn(wanted +
                 " is of another run, and this one had not gone on in it yet when all of "
                 "it was killed: what was in memory goes into a new " +
                 fresh);
    else
      say_missing(fresh);
    return take_new(run, fresh);
  }
  appends(run) ? take_to_append(run, wanted) : take_new(run, wanted);
}

void OutputFile::say_missing(const std::string& fresh) {
  is_missing_ = !gave_up_;
  host_.warn(
      "the file that this run was writing before the server died is not there: it goes on in a "
      "new " +
      fresh);
}

// Under its own names, and those that it got when a later run set it aside.
bool OutputFile::find_own_anywhere(const leat_run& run, const std::string& wanted) {
  const std::string own = of_session(wanted, run);
  if (find_renamed(run, own) || find_renamed(run, wanted)) return true;
  if (find_own(run, own) || find_own(run, wanted)) return true;
  if (gave_up_) return false;  // it has a name of those set aside now, and is kept as it is
  for (const std::string& name : {wanted, own}) {
    for (const std::string& aside : names_set_aside(name))
      if (find_own(run, aside, true)) return true;
  }
  return false;
}

namespace {

// Who stores what was in memory when all of a run was killed leaves the part alone in which another run goes on by now.
std::string folder_for_new_part(const leat_run& run, const std::string& view) {
  const std::string own = folder_of_parts(view, run.session);
  std::string folder = own;
  if (!appends(run) || !leat_run_is_drained(&run)) return folder;
  for (int number = 1; fs::exists(path_of_part(folder, run)); ++number)
    folder = own + "." + std::to_string(number);
  return folder;
}

}  // namespace

// Nobody else writes it: what may be there is of this run, or of an older one whose session had the
// same name.
void OutputFile::take_part(const leat_run& run, bool is_expected) {
  view_ = wanted_path(run);
  if (appends(run)) {
    const std::string folder = folder_to_append(run, view_);
    if (!folder.empty() && take_earlier_part(run, folder)) return;
  }
  take_part_in(run, folder_for_new_part(run, view_), is_expected);
}

// False where it is no part of an earlier run: then one is begun.
bool OutputFile::take_earlier_part(const leat_run& run, const std::string& folder) {
  const std::string path = path_of_part(folder, run);
  if (leat_run_is_resumed(&run) && find_own(run, path)) return true;
  if (!may_take_earlier(run, folder)) return false;
  if (!fs::exists(fs::symlink_status(path)) && is_just_begun(run, folder)) {
    take_part_in(run, folder, true);
    return true;
  }
  take_if_all_can(run, folder, view_, [&] {
    path_ = path;
    std::optional<FileLock> lock = lock_soon(path);
    if (!lock)
      throw std::runtime_error(refusal_of_parts(
          view_, path + " is being written by another run" + FileLock::holder(path)));
    hold(std::move(*lock));
    finish_earlier();
  });
  return true;
}

void OutputFile::take_part_in(const leat_run& run, const std::string& folder, bool is_expected) {
  fs::create_directories(folder);
  const std::string path = path_of_part(folder, run);
  if (leat_run_is_resumed(&run)) {
    if (find_own(run, path)) return;
    if (is_expected) say_missing(path);
  }
  path_ = path;
  std::optional<FileLock> lock = lock_soon(path);
  if (!lock)
    throw std::runtime_error(path + " is being written by another" + FileLock::holder(path) +
                             ": give the two runs different LEAT_SESSION names");
  hold(std::move(*lock));
  const std::string exists = value(run, "exists", "keep");
  leat_run_is_resumed(&run) ? move_away_part(path_, exists, host_)
                            : move_away_parts(files_of_server(folder, run), exists, host_);
}

// Continues `path` when it is of this run.
bool OutputFile::find_own(const leat_run& run, const std::string& path, bool is_aside) {
  if (!fs::is_regular_file(fs::symlink_status(path))) return false;
  std::optional<FileLock> lock = lock_soon(path);
  if (!lock) return false;
  path_ = path;
  try {
    const LastCommit commit = finish_last_commit(path);
    if (commit.kind == LastCommit::Kind::not_finished)
      throw std::runtime_error("the commit in which its writer was killed cannot be finished: " +
                               commit.why + ". It is kept as " + commit.kept);
    if (commit.was_finished())
      host_.info(path + ": the commit in which its writer was killed is finished now");
    const RunName writer = run_of(path);
    continues_ = writer.is_of(run);
    if (!continues_ && !is_aside && !appends(run))
      host_.warn(path + " is of another run, of session " + writer.session);
  } catch (const std::exception& e) {
    if (is_aside) return false;
    give_up_old(e.what());
  }
  if (continues_) hold(std::move(*lock));
  return continues_;
}

// What a dead server of this run has called its file when its name was taken from it; it has the
// lock of that one still, unlike files of earlier runs.
bool OutputFile::find_renamed(const leat_run& run, const std::string& path) {
  for (const std::string& name : names_set_aside(path)) {
    if (FileLock::is_left(name) && find_own(run, name, true)) return true;
  }
  return false;
}

void OutputFile::hold(FileLock lock) {
  if (!lock.removed().empty())
    host_.warn(lock.removed() +
               " was no file, but a link or the like, which no run of Leat makes: it was removed, "
               "and what it led to was not touched. Others can write to this folder");
  lock_.emplace(std::move(lock));
}

// Should the working folder of the server be gone too, paths that start from it lead nowhere.
void OutputFile::go_on_in_folder() {
  std::error_code failed;
  fs::create_directories(fs::path(wanted_).parent_path(), failed);
  struct stat folder {};
  const FilePlace place = wanted_;
  const bool is_there = place.folder().error() == 0 && fstat(place.folder().fd(), &folder) == 0 &&
                        folder.st_nlink > 0;
  if (is_there) return;
  wanted_ = absolute_;
  fs::create_directories(fs::path(wanted_).parent_path());
}

// False when others have it.
bool OutputFile::take_name(CommittedFile* file, const std::string& path) {
  const FilePlace place = path;
  if (place.exists() && !file->named().is_at(place)) return false;
  const bool has_lock = lock_ && lock_->holds(place);
  std::optional<FileLock> lock = has_lock ? std::nullopt : FileLock::take(place);
  if (!has_lock && !lock) return false;
  const int code = file->move_to(place);
  if (code == EEXIST) return false;
  if (code != 0) throw std::runtime_error(std::strerror(code));
  if (lock) hold(std::move(*lock));
  path_ = path;
  return true;
}

std::string OutputFile::name_again(CommittedFile* file) {
  try {
    go_on_in_folder();
    if (!view_.empty() && !is_shared_) move_away_part(wanted_, "keep", host_);
    for (int number = 0; number <= kMostNames; ++number) {
      if (take_name(file, numbered(wanted_, number))) return "";
    }
    return "all names up to " + numbered(wanted_, kMostNames) + " are taken";
  } catch (const std::exception& e) {
    return e.what();
  }
}

void OutputFile::give_up_old(const std::string& why) {
  continues_ = false;
  gave_up_ = true;
  const fs::path kept = set_aside(path_);
  host_.error(path_ + " cannot be continued, and is called " + kept.string() +
              " now; what comes goes into a new file: " + why);
}

void OutputFile::take_new(const leat_run& run, const std::string& wanted) {
  path_ = wanted;
  hold(lock_for(&path_, run, host_));
  make_room(path_, value(run, "exists", "keep"), host_);
}

// That of a run which has just ended may be locked for a moment yet.
void OutputFile::take_to_append(const leat_run& run, const std::string& wanted) {
  path_ = wanted;
  std::optional<FileLock> lock = lock_soon(path_);
  hold(lock ? std::move(*lock) : lock_for(&path_, run, host_));
  lock_->mark(mark_of(run));
  if (path_ != wanted || !fs::exists(fs::symlink_status(path_)))
    return make_room(path_, "keep", host_);
  finish_earlier();
}

void OutputFile::finish_earlier() {
  if (!fs::is_regular_file(fs::symlink_status(path_)))
    throw std::runtime_error("cannot append to " + path_ +
                             ": it is no file, but a link or the like");
  const LastCommit commit = finish_last_commit(path_);
  if (commit.was_finished())
    host_.info(path_ + ": its last commit, in which its writer was killed, is finished now");
  if (commit.kind == LastCommit::Kind::not_finished)
    throw std::runtime_error("cannot append to " + path_ +
                             ": the last commit of its writer, which was killed, cannot be "
                             "finished: " +
                             commit.why + ". It is kept as " + commit.kept);
  is_earlier_ = true;
}

std::string described_iterations(const std::vector<std::int64_t>& ascending) {
  if (ascending.empty()) return "no iterations";
  const std::string first = std::to_string(ascending.front());
  if (ascending.size() == 1) return "iteration " + first;
  return std::to_string(ascending.size()) + " iterations, " + first + " to " +
         std::to_string(ascending.back());
}

bool NameGuard::find_name(const Content& content) {
  const std::string was = output_.path(), now = file_.named().name_now();
  const std::string what =
      was + (now.empty() ? " was removed or replaced while this run was writing it"
                         : " was renamed to " + now + " while this run was writing it");
  const std::string why = output_.name_again(&file_);
  if (why.empty()) {
    why_none_.clear();
    host_.warn(what + ": " + output_.path() +
               (now.empty() ? " was written anew, with " + content() : " is the same file now") +
               ", and the run goes on there");
    return true;
  }
  const bool is_known = !why_none_.empty();
  why_none_ = what + ", and cannot be written anew: " + why + "; lost with it: " + content();
  if (!is_known) host_.error(why_none_ + ", unless it can before the run ends");
  return false;
}

}  // namespace leat::hdf5

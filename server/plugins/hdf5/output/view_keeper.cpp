// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output/view_keeper.hpp"

#include <filesystem>
#include <stdexcept>
#include <thread>

#include "server/plugins/hdf5/conventions/nodes.hpp"
#include "server/plugins/hdf5/output/old_output.hpp"
#include "server/plugins/hdf5/output/refresh_interval.hpp"
#include "server/plugins/hdf5/output/view_program.hpp"
#include "server/plugins/hdf5/view/make_view.hpp"

namespace leat::hdf5 {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// A part that another server is just writing may be unreadable for a moment.
constexpr int kTriesAtEnd = 10;
constexpr auto kPause = 100ms;
// Till a view is taken to be one that never ends: while iterations wait, and when none does any
// more.
constexpr std::chrono::seconds kLimit = 10s, kLimitAtEnd = 300s;
// An attempt without success that took longer is not repeated with each iteration.
constexpr auto kLongAttempt = 1s;

std::string plain(const fs::path& path) { return fs::weakly_canonical(path).lexically_normal(); }

}  // namespace

ViewKeeper::ViewKeeper(const leat_run& run, const Host& host, const OutputFile& output)
    : run_(run),
      host_(host),
      folder_(fs::path(output.path()).parent_path()),
      wanted_(output.view()),
      maker_(name_of_part(leat_run_first_rank(&run))),
      started_(fs::last_write_time(output.path())),
      every_(kShortestInterval) {}

bool ViewKeeper::is_own(const std::string& path) const {
  const std::string parts = parts_of_view(path);
  return !parts.empty() && plain(parts) == plain(folder_);
}

// Another server has made it a short time ago.
bool ViewKeeper::is_fresh() const {
  std::error_code missing;
  const fs::file_time_type made = fs::last_write_time(path_, missing);
  return !missing && fs::file_time_type::clock::now() - made < every_;
}

// What has the wanted name may belong to a run beside this one: be it at work, or be it that it has
// ended since this one began, which may not replace that. "" when it does not.
std::string ViewKeeper::why_of_another_run(bool is_locked) const {
  if (!is_locked || is_view_of_live_run(wanted_))
    return "is being written by another run" + FileLock::holder(wanted_);
  std::error_code missing;
  const fs::file_time_type written = fs::last_write_time(wanted_, missing);
  return !missing && written > started_ ? "was written by another run since this one began" : "";
}

void ViewKeeper::after_commit() {
  const Clock::time_point now = Clock::now();
  if (now < give_up_till_ || (!path_.empty() && now - looked_ < every_)) return;
  looked_ = now;
  if (!path_.empty() && is_fresh()) return;
  try {
    make(false);
  } catch (const std::exception&) {
    // The next one, at the latest that of the end, may find all parts readable.
  }
  const Clock::duration taken = Clock::now() - now;
  every_ = refresh_interval(taken);
  if (taken > kLongAttempt) give_up_till_ = now + every_;
}

void ViewKeeper::at_close() {
  for (int tries = 1;; ++tries) {
    const Clock::time_point begin = Clock::now();
    is_last_try_ = tries == kTriesAtEnd;
    try {
      return make(true);
    } catch (const std::exception& e) {
      if (tries == kTriesAtEnd || Clock::now() - begin > kLimit) {
        host_.warn("the view " + (path_.empty() ? wanted_ : path_) + " of " + folder_ +
                   " could not be made whole: " + e.what() + "; `leat view " + folder_ +
                   "` makes it");
        return;
      }
      std::this_thread::sleep_for(kPause);
    }
  }
}

void ViewKeeper::make(bool last) {
  const std::string alternative = of_session(wanted_, run_);
  if (!path_.empty() && fs::exists(path_) && !is_own(path_)) {
    host_.warn(path_ + " has become another run's; this run's view is " + alternative);
    path_ = alternative;
  }
  if (!path_.empty()) {
    return make_as(path_, last);
  }
  make_first(last);
}

// What the view does not show is said when it is found, and once.
void ViewKeeper::hear(const std::string& path, const std::vector<std::string>& lines, bool last) {
  for (const std::string& line : lines) {
    if (line.rfind(kNotShown, 0) != 0) {
      if (last) host_.info(path + ": " + line);
    } else if (not_shown_.insert(line.substr(std::string(kNotShown).size())).second) {
      host_.warn(path + " does not show " + line.substr(std::string(kNotShown).size()));
    }
  }
}

std::string ViewKeeper::not_shown() const {
  std::string text;
  for (const std::string& each : not_shown_)
    text += (text.empty() ? path_ + " does not show " : "; nor ") + each;
  return text;
}

void ViewKeeper::make_as(const std::string& path, bool last) {
  using Kind = ViewOrder::Kind;
  const auto progress = [this] { host_.progress(1); };
  if (!last) {
    hear(path, make_view_outside({folder_, path, maker_, Kind::make}, kLimit, progress), false);
    return;
  }
  try {
    hear(path, make_view_outside({folder_, path, maker_, Kind::last}, kLimitAtEnd, progress), true);
  } catch (const std::exception&) {
    if (!is_last_try_) throw;
    make_view_outside({folder_, path, maker_, Kind::rest}, kLimitAtEnd, progress);
    throw;
  }
}

// Who makes the view for the first time sets aside what has its name. Those who want to do that
// take turns, by a lock of theirs: who cannot have the lock of the file itself knows then that
// another run is writing that. However long one of them takes, another does not take it for another
// run.
void ViewKeeper::make_first(bool last) {
  const std::string turn = wanted_ + ".view", alternative = of_session(wanted_, run_);
  const std::optional<FileLock> mine = last ? lock_soon(turn) : FileLock::take(turn);
  if (!mine) throw std::runtime_error("another server is making it");
  const bool is_new = !is_own(alternative) && !is_own(wanted_);
  const std::optional<FileLock> lock = is_new ? lock_soon(wanted_) : std::nullopt;
  std::string path = is_own(alternative) ? alternative : wanted_;
  const std::string why_not = is_new ? why_of_another_run(lock.has_value()) : "";
  if (!why_not.empty()) {
    path = alternative;
    host_.warn(wanted_ + " " + why_not + "; this run's view is " + path);
  } else if (is_new) {
    make_room(wanted_, option(run_.options, run_.option_count, "exists", "keep"), host_);
  }
  make_as(path, last);
  path_ = path;
}

}  // namespace leat::hdf5

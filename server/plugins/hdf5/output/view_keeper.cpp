// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output/view_keeper.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "lib/os/descriptor.hpp"
#include "lib/os/process.hpp"
#include "server/plugins/hdf5/conventions/nodes.hpp"
#include "server/plugins/hdf5/output/old_output.hpp"
#include "server/plugins/hdf5/output/options.hpp"
#include "server/plugins/hdf5/view/make_view.hpp"

namespace leat::hdf5 {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Lines = std::vector<std::string>;

// A server makes views in a process of their own, the program view-hdf5 beside the plugin: the HDF5
// library crashes over some damaged files and never comes back from others, and the parts of other
// nodes may be anything, over a network file system also what is not yet there.
std::string program() {
  Dl_info plugin{};
  if (dladdr(reinterpret_cast<const void*>(&program), &plugin) == 0)
    throw std::runtime_error("the folder of the hdf5 plugin is not known");
  return fs::path(plugin.dli_fname).parent_path() / "view-hdf5";
}

// All that it writes but its signs of life, up to `end`; false when it has not ended by then.
bool listen(int output, Clock::time_point end, const std::function<void()>& progress,
            std::string* said) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd one{output, POLLIN, 0};
    const int ready = left > 0 ? ::poll(&one, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    char piece[512];
    const ssize_t got = ::read(output, piece, sizeof piece);
    if (got <= 0) return got == 0;
    said->append(piece, static_cast<std::size_t>(got));
    if (std::erase(*said, '\0') > 0) progress();
  }
}

// Of a process that ended without a word. A server that takes its children itself leaves nothing.
std::string why_without_a_word(int status) {
  if (WIFSIGNALED(status))
    return std::string("the HDF5 library crashed (") + strsignal(WTERMSIG(status)) +
           ") over its parts: one is damaged, `leat ls` on each says which";
  return "the program that makes views " + os::describe_end(status);
}

// The lines before the last one, which is "done" when all is well.
Lines lines_of_success(const std::string& said, int status) {
  Lines lines;
  std::istringstream text(said);
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  if (lines.empty()) throw std::runtime_error(why_without_a_word(status));
  if (lines.back() != "done" || said.back() != '\n') throw std::runtime_error(lines.front());
  lines.pop_back();
  return lines;
}

// Has the program make the view; `words` are those behind its name: folder, path, "make", "last" or
// "rest" (the last one without what is damaged), maker. Returns what it has said, by lines. Calls
// `progress` at each of its signs of life. Throws with what it said, when it could not; or when it took
// longer than `limit`: then it is killed.
Lines make_view_outside(Lines words, std::chrono::seconds limit,
                        const std::function<void()>& progress) {
  // A killed process in a call that hangs, as of a dead file server, ends with that call: whoever takes
  // up children later takes this one up.
  constexpr std::int64_t kReapLimitNs = 2'000'000'000;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error(std::strerror(errno));
  const os::UniqueFd reader(ends[0]);
  os::UniqueFd writer(ends[1]);
  words.insert(words.begin(), program());
  const Result<pid_t> process =
      os::start(words, {{writer.get(), STDOUT_FILENO}, {writer.get(), STDERR_FILENO}});
  if (!process) throw std::runtime_error(process.error().message);
  writer.reset();
  std::string said;
  const bool ended = listen(reader.get(), Clock::now() + limit, progress, &said);
  if (!ended) ::kill(*process, SIGKILL);
  int status = 0;
  os::reap(*process, kReapLimitNs, &status);
  if (!ended)
    throw std::runtime_error("the HDF5 library has not come to an end with its parts in " +
                             std::to_string(limit.count()) +
                             " seconds: one is damaged, `leat ls` on each says which");
  return lines_of_success(said, status);
}

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

ViewKeeper::ViewKeeper(const leat_run& run, const Host& host, const std::string& folder,
                       const std::string& view, fs::file_time_type started)
    : run_(run),
      host_(host),
      folder_(folder),
      wanted_(view),
      maker_(name_of_part(run)),
      started_(started),
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
  if (appends(run_) && leat_run_is_drained(&run_) && fs::exists(wanted_))
    return "is of an earlier run, and this one was killed before all of its servers had gone on "
           "with it";
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
void ViewKeeper::report(const std::string& path, const std::vector<std::string>& lines, bool last) {
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
  const auto made = [&](const char* kind, std::chrono::seconds limit) {
    return make_view_outside({folder_, path, kind, maker_}, limit, [this] { host_.progress(1); });
  };
  if (!last) return report(path, made("make", kLimit), false);
  try {
    report(path, made("last", kLimitAtEnd), true);
  } catch (const std::exception&) {
    if (is_last_try_) made("rest", kLimitAtEnd);
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

// SPDX-License-Identifier: Apache-2.0
// The run that a server serves: what stays as it is while it goes on, who hosts it, what it says, sets of its ranks.
#pragma once

#include <fmt/core.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "lib/model/model.hpp"
#include "lib/os/worker.hpp"
#include "lib/shm/segment.hpp"

namespace leat::server {

class Trace;  // state/trace/trace.hpp

// How an engine gets done what goes on beside its steps: who hosts it says on which threads.
class Executor {
 public:
  enum class Urgency {
    behind_others,  ///< other threads on the same cores go first
    background      ///< in the gaps that others leave
  };
  virtual ~Executor() = default;

  /// Calls `work` once, on a thread of its own called `name` (of at most 15 characters). Throws
  /// std::system_error when there is none to be had. From any thread.
  virtual std::jthread run(const char* name, Urgency urgency, std::function<void()> work) = 0;
  void start(os::Worker& worker, const char* name) {
    worker.start([this, name](std::function<void()> work) {
      return run(name, Urgency::behind_others, std::move(work));
    });
  }
};

// What a server has to say, line by line. From any thread.
enum class LogLevel { debug, info, warning, error };
const char* name_of(LogLevel level) noexcept;
/// A line of the log names as many of a kind, and says only that there are more.
inline constexpr std::size_t kMostNamed = 8;

/// Info for a name that is none.
LogLevel log_level_of(std::string_view name) noexcept;

class Log {
 public:
  /// Lines below `least` are left out.
  explicit Log(LogLevel least) : least_(least) {}
  virtual ~Log() = default;

  bool shows(LogLevel level) const noexcept { return level >= least_; }

  // Only the check of the format is compiled where they are called; none of them throws.
  template <class... Args>
  void log(LogLevel level, fmt::format_string<Args...> format, const Args&... args) noexcept {
    write(level, format, fmt::make_format_args(args...));
  }
  /// What is looked up when a run is looked at closely: in a log file, not on the terminal, unless
  /// the XML says otherwise.
  template <class... Args>
  void debug(fmt::format_string<Args...> format, const Args&... args) noexcept {
    write(LogLevel::debug, format, fmt::make_format_args(args...));
  }
  template <class... Args>
  void info(fmt::format_string<Args...> format, const Args&... args) noexcept {
    write(LogLevel::info, format, fmt::make_format_args(args...));
  }
  template <class... Args>
  void warn(fmt::format_string<Args...> format, const Args&... args) noexcept {
    write(LogLevel::warning, format, fmt::make_format_args(args...));
  }
  template <class... Args>
  void error(fmt::format_string<Args...> format, const Args&... args) noexcept {
    write(LogLevel::error, format, fmt::make_format_args(args...));
  }

 private:
  void write(LogLevel level, fmt::string_view format, fmt::format_args args) noexcept;
  /// A whole line or several, without the last line's end.
  virtual void put(LogLevel level, const std::string& text) = 0;

  LogLevel least_;
};

// Sets of ranks, each kept once and known by a number: what 128 ranks do alike is said once.

/// Ascending, apart, first and last of each range included.
using Ranks = std::vector<std::pair<std::int32_t, std::int32_t>>;

/// To a set without a greater rank.
void append_rank(Ranks* ranks, std::int32_t rank);
Ranks united(const Ranks& a, const Ranks& b);
/// "0-3, 7"; "-" for nobody.
std::string text_of(const Ranks& ranks);

/// What tells the runs of one session from each other, in files and where plugins want a number: of RunFacts::run_id. Never 0; that two
/// get the same is as good as impossible.
std::int32_t run_number(const std::string& run_id) noexcept;

class RankSets {
 public:
  static constexpr std::uint32_t kNobody = 0;
  static constexpr std::uint32_t kEverybody = 1;  ///< all whom the server has
  /// A run with more than so many sets is told only that others were of everybody.
  static constexpr std::size_t kMost = 16384;

  /// Everybody is `ranks`, of a server that has all of them, until somebody says otherwise.
  explicit RankSets(std::int32_t ranks);

  /// What is of everybody, before and after this call, is of these ranks.
  void set_everybody(const Ranks& ranks);

  /// kEverybody when there are too many sets. Known sets cost no allocation.
  std::uint32_t number(const Ranks& ranks);
  std::uint32_t united(std::uint32_t a, std::uint32_t b);
  const Ranks& operator[](std::uint32_t number) const { return sets_[number]; }

 private:
  std::map<Ranks, std::uint32_t> numbers_;
  std::vector<Ranks> sets_;
};

// The run that a server serves: what stays as it is while it goes on, and what time it is.

/// What servers that are ranks of one job have in common.
struct ServerMpi {
  void* communicator = nullptr;  ///< an MPI_Comm of the simulation's MPI; null: there is none
  std::string why_none{};        ///< for those who ask for one
};

struct RunFacts {
  std::string session;
  std::int32_t ranks = 1;
  std::int32_t node_ranks = 1;
  bool resumed = false;  ///< a server of this run has died, and this one goes on in its place
  bool drained =
      false;  ///< and no rank lives: what they had handed over is stored, and that is all
  std::string run_id{};  ///< of this run on this node alone: the name of its segment
  /// The ranks are known to live until they come: they and the server are one job.
  bool ranks_are_sure = false;
  /// Servers of one node have its ranks between them: to each it is as if it were a node.
  std::int32_t server = 0, servers = 1;
  std::int32_t first_on_node = 0;   ///< the number on the node of the first of its ranks
  std::int32_t others_on_node = 0;  ///< ranks of this node that other servers have
  std::int32_t cores_on_node = 1;   ///< of all of its servers
  ServerMpi mpi{};                  ///< for plugins
  std::string run_session{};        ///< that all servers of the run have in common; "": `session`
  bool in_simulation = false;       ///< the process is a rank's, which computes on other threads
  bool cores_are_shared =
      false;  ///< ranks compute on the server's cores too; known when they are there
  /// 0: no other server ever has its ranks; 1: another one may have them after it; more: it has them after another one, and greater
  /// numbers are later.
  std::int32_t succession = 0;
  std::int32_t node_number = 1;  ///< of those nodes of the run whose hosts are called as this one

  /// Of a run with several servers nobody has all ranks in hand.
  bool has_all_ranks() const noexcept { return ranks == node_ranks; }
};

/// All that is referred to outlives it.
struct Run {
  const model::Model& model;
  const shm::Segment& segment;
  RunFacts facts;
  std::shared_ptr<Log> log;
  Executor& executor;
  std::string folder;       ///< that output goes to, where the XML does not say another one
  std::int64_t now_ns = 0;  ///< of the engine's step in progress, by the clock of who calls it
  std::shared_ptr<Trace> trace{};  ///< null: none is wanted

  /// Those who wait for us see that something gets done. From any thread.
  void made_progress() const noexcept {
    segment.server_state().progress.fetch_add(1, std::memory_order_relaxed);
  }
  std::int64_t timeout_ns() const noexcept {
    return static_cast<std::int64_t>(segment.header().timeout_ns);
  }
};

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// One script of the run: what it wants, what waits for it, how it fares.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "lib/os/descriptor.hpp"
#include "server/workers/graph/module_inputs.hpp"
#include "server/workers/python/script_files.hpp"
#include "server/workers/script_job.hpp"

namespace leat::server {

// Which iterations scripts wait for or work on. The oldest is in the segment, so that a server that
// takes over can say what they may not have been called with.

/// From any thread.
class PendingIterations {
 public:
  /// `word`: 1 + the oldest, 0 for none.
  explicit PendingIterations(std::atomic<std::int64_t>& word)
      : state_(std::make_shared<State>(word)) {}

  /// It is pending until the last copy ends.
  std::shared_ptr<const void> hold(std::int64_t iteration) const;
  /// One of these.
  bool has(std::int64_t first, std::int64_t last) const;

 private:
  struct State {
    explicit State(std::atomic<std::int64_t>& its_word) : word(its_word) {}
    void note() { word.store(all.empty() ? 0 : 1 + *all.begin()); }

    std::mutex mutex;
    std::multiset<std::int64_t> all;
    std::atomic<std::int64_t>& word;
  };
  std::shared_ptr<State> state_;
};

// Copies of the blocks of variables that do not vary in time: their memory goes back to the
// simulation, while scripts want them at each iteration, and after a restart too.
class ConstantsFile {
 public:
  ConstantsFile();
  int descriptor() const noexcept { return file_.get(); }

  /// Copies the block; one written again takes the place of the first.
  void store(const Block& block);
  /// All that is kept; `lease` of each is its offset in the file.
  std::vector<Block> blocks() const;

 private:
  os::UniqueFd file_;
  std::uint64_t end_ = 0;
  mutable std::mutex mutex_;
  std::map<std::tuple<std::uint32_t, std::int32_t, std::uint32_t>, Block> blocks_;
};

// One script of the run: what it wants, what waits for it, how it fares. Guarded by the pool's
// lock.

/// One function of a script, as the worker that loaded it tells.
struct ScriptFunction {
  std::string name{};
  std::int64_t every = 1;
  bool all_variables = true;
  std::vector<std::uint32_t> variables;  ///< that vary in time: due when all of them are there
  std::vector<std::uint32_t> beside;     ///< that say where those lie: taken when they are there
  std::vector<std::string> products{};   ///< patterns; some: due when there are such
  std::vector<std::string> publishes{};  ///< what it may make of those
  std::vector<std::uint32_t> events{};   ///< some: due only when one of them happens
  bool is_of_run = false;                ///< all servers call it together

  bool wants(std::uint32_t variable) const;
  bool is_due(const Content& content) const;
  /// Only variables keep it from being due: no rank of this server has written one that it takes.
  bool lacks_variables(const Content& content) const {
    return is_its_turn(content) && !has_its_variables(content);
  }
  /// It is for an event.
  bool is_called_by_event(const Content& content) const {
    return !events.empty() && is_due(content);
  }
  /// It is, should what it takes of products be published.
  bool may_be_due(const Content& content) const {
    return is_its_turn(content) && has_its_variables(content);
  }

 private:
  bool is_its_turn(const Content& content) const;
  bool has_its_variables(const Content& content) const;
};

/// What a function has reduced over the servers of the run: its calls in its last iteration with some.
struct ScriptReductions {
  std::int64_t iteration = INT64_MIN;
  std::uint32_t calls = 0;
};

struct ScriptCounts {
  std::uint64_t calls = 0, failed = 0, skipped = 0;
  double seconds = 0, without_core = 0;
  std::string first_error;  ///< its last line
  std::string away;  ///< of a module on another host: why it missed its last turn; "": it had it
  std::map<std::string, std::uint64_t> told;  ///< failures that are in the log already
};

struct Script {
  ScriptFile file;
  const model::ScriptSource* source = nullptr;
  std::size_t worker = 0;
  bool must_load = true;  ///< new, changed, or its process is a new one
  bool loading = false;
  bool removed = false;
  bool ended = false;       ///< no iteration comes any more: its execution ends
  bool fresh = true;        ///< never loaded in this run
  bool was_changed = true;  ///< on disk, since it was loaded
  bool usable = true;       ///< false: failed too often, or could not be loaded; until it changes
  std::vector<ScriptFunction> functions;  ///< of the version that is loaded
  std::deque<ScriptJob> waiting;          ///< as they came
  /// Iterations of which the stores may yet publish what a function takes with them.
  std::map<std::int64_t, std::shared_ptr<const Iteration>> expecting;
  std::string state;  ///< ctx.state, pickled
  std::int64_t failures_in_a_row = 0;
  int loads_in_a_row = 0;             ///< whose process somebody killed or stopped
  std::int64_t backlog_until_ns = 0;  ///< when what came too early is old; 0: there is none
  std::uint64_t served = 0;           ///< grows with the orders of the pool: when its last one was
  bool overran = false;               ///< its last call took longer than it may
  std::vector<Content> unjudged;      ///< left out before it was known whether it wants them
  std::map<std::string, ScriptReductions> reductions{};  ///< by function
  std::unique_ptr<ModuleInputs> inputs;  ///< of a module: what has come for it; null of a script
  ScriptCounts counts;

  /// What it wants is not known yet.
  bool unknown() const noexcept { return was_changed && (must_load || loading); }
  /// It is loaded for the first time, or has yet to see what came meanwhile, and still may.
  bool is_new(std::int64_t now_ns) const noexcept {
    if (removed || !usable) return false;
    return (fresh && unknown()) ||
           (now_ns < backlog_until_ns && !waiting.empty() && waiting.front().early);
  }
  /// Iterations are not left out for newer ones: the XML says so, or a function is of the whole run, whose servers would leave
  /// out different ones.
  bool waits() const noexcept;
  /// `script "hottest"`
  std::string title() const;
  double timeout_seconds() const noexcept;
  /// Of the first failure; else why it misses turns.
  const std::string& why() const noexcept {
    return counts.first_error.empty() ? counts.away : counts.first_error;
  }
  /// It is called where it is, and nowhere else.
  bool stays() const noexcept { return inputs || is_executed_once(); }
  /// Its file is one execution as long as its process lives: it stays there, and is told when the run ends.
  bool is_executed_once() const noexcept {
    return source->form() == model::ScriptForm::deisa ||
           source->form() == model::ScriptForm::catalyst;
  }
  /// It is unloaded, where it is loaded.
  bool is_over() const noexcept { return removed || ended; }
  /// There is something to be done for it.
  bool has_work() const noexcept {
    return is_over() ? !functions.empty() : must_load || !waiting.empty();
  }
  /// True when it is, or may turn out to be, due.
  bool may_want(const Content& content) const;
  /// It waits for a call with one of these iterations, or for what is made of it.
  bool waits_for(std::int64_t first, std::int64_t last) const;
  /// Takes in line, or keeps, what it wants of an iteration, with holds on that only. `pending` is
  /// kept as long as that is.
  void take(const Iteration& iteration, const std::shared_ptr<const void>& pending);
  /// The same of what is made of one.
  void take(const Published& published, const std::shared_ptr<const void>& pending);
  /// Channels of the functions that it would call with this one, had ranks of this server written what they take.
  std::vector<std::uint64_t> channels_without(const Content& content) const;
  /// It is not called for this one. Counted when it wanted it.
  void leave_out(const Content& content);
  void drop_waiting();
  /// Iterations that it wanted and was not called for.
  std::uint64_t left_out() const noexcept { return counts.skipped + unjudged.size(); }
  /// Counts it. `why` is of the report when it is the first.
  void record_failure(const std::string& why);
  /// It is not called any more, until it changes.
  void give_up();
  /// It is known what it wants: of what came before, the rest is no more its own. For a while it
  /// may catch up.
  void is_known(std::int64_t now_ns);
  /// A script that may skip and is still not done with what came too early goes on with the newest.
  void leave_backlog(std::int64_t now_ns);
  /// Puts it in line, where it may take the place of an older one.
  void add(ScriptJob job);

 private:
  bool awaits_products(const Content& content) const;
  std::shared_ptr<const Iteration> part_of(const Iteration& iteration, bool with_products) const;
  bool is_by_event(const ScriptJob& job) const;
};

}  // namespace leat::server

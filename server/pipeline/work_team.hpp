// SPDX-License-Identifier: Apache-2.0
// Threads that do the pieces of a plugin's iteration, and a trace of them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "lib/model/model.hpp"
#include "lib/os/clock.hpp"
#include "lib/os/cores.hpp"
#include "server/state/run.hpp"

namespace leat::server {

// Who does the pieces of an iteration that a plugin gives it in, on which cores and when.
class PieceRunner {
 public:
  /// Does the piece of this number; an error, or "". From any thread.
  using Piece = std::function<std::string(std::uint64_t number)>;
  /// Another iteration waits for the end of these pieces already. From any thread.
  using IsLate = std::function<bool()>;
  virtual ~PieceRunner() = default;

  /// Returns when all pieces are done, or when one has failed and none is being done any more: the
  /// error of the first that failed. From several threads at the same time.
  virtual std::string run(std::uint64_t pieces, const Piece& piece, const IsLate& is_late) = 0;
};

// Threads that do independent pieces of work: those of a plugin's iteration.
class WorkTeam final : public PieceRunner {
 public:
  /// `members`: that help those who call run(). `cores`: on which they do so; none: where they are.
  explicit WorkTeam(std::size_t members, const os::CpuSet& cores = {})
      : members_(members), cores_(cores) {}
  WorkTeam(const WorkTeam&) = delete;
  ~WorkTeam() override;

  /// Once. With fewer threads, when there are no more to be had.
  void start(Executor& executor);
  /// Each who calls it helps itself.
  std::string run(std::uint64_t pieces, const Piece& piece, const IsLate& is_late) override;

 private:
  struct Job;

  void work();
  Job* next_job();
  void help(Job& job, std::unique_lock<std::mutex>& lock);

  std::size_t members_;
  os::CpuSet cores_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Job*> jobs_;
  bool closing_ = false;
  std::vector<std::jthread> threads_;
};

// Those who do pieces of iterations, one for each schedule.
struct ServerCores {
  std::size_t dedicated = 1;  ///< how many are the server's own
  os::CpuSet all{};           ///< that may be used while the simulation waits
  PieceRunner* lent{};        ///< threads that the simulation lends; null: none
};

class Crews {
 public:
  explicit Crews(const ServerCores& cores);

  /// What died with the simulation's process is made up for on the server's own cores.
  PieceRunner& of(model::Schedule schedule);
  /// Once, for those that were asked for. With fewer threads, when there are no more to be had.
  void start(Executor& executor);

 private:
  WorkTeam dedicated_;
  WorkTeam everywhere_;  // while the ranks wait
  PieceRunner* lent_;
  bool is_everywhere_wanted_ = false;
};

// LEAT_ANALYTICS_TRACE=FOLDER: when each piece of an analysis began, how long it took and on which core, a
// file for each thread that does pieces. The files are traces as `leat predict` reads them.
class PieceTrace {
 public:
  /// Null when nobody wants one.
  static std::unique_ptr<PieceTrace> wanted_for(const std::string& store, std::shared_ptr<Log> log);
  PieceTrace(std::string folder, std::string store, std::shared_ptr<Log> log);
  PieceTrace(const PieceTrace&) = delete;
  ~PieceTrace();

  /// A piece that ends now, on the calling thread; from any. Threads of the simulation may not see the
  /// server's files: nothing is written yet.
  void add(std::int64_t begun_ns);
  /// Writes what there is; from the plugin's own thread.
  void flush();

 private:
  struct Piece {
    std::int64_t begun_ns, ns;
    int core;
  };
  struct OfThread {
    std::vector<Piece> pieces{};
    std::ofstream file{};
    int core = -1;  // that the file has named last
  };

  void write(OfThread& thread);
  void open(OfThread& thread);

  const std::string folder_, store_;
  const std::shared_ptr<Log> log_;
  std::mutex mutex_;
  std::map<std::thread::id, OfThread> threads_;
  std::int64_t origin_ns_ = 0;
  int opened_ = 0;
  bool has_failed_ = false;
};

/// A piece, from here to the end of the block. `trace` may be null.
class TracedPiece {
 public:
  explicit TracedPiece(PieceTrace* trace) : trace_(trace), begun_ns_(trace ? os::now_ns() : 0) {}
  TracedPiece(const TracedPiece&) = delete;
  ~TracedPiece() {
    if (trace_) trace_->add(begun_ns_);
  }

 private:
  PieceTrace* trace_;
  std::int64_t begun_ns_;
};

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// Takes iterations that wait for the stores out of the segment and to a disk of the node.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/os/worker.hpp"
#include "server/state/iterations/iteration.hpp"
#include "server/state/run.hpp"
#include "server/state/spill/spill_file.hpp"

namespace leat::server {

// Iterations that wait for the stores, as the spiller sees them.

/// From any thread. `which` is called with the line locked, and must be quick.
class WaitingLine {
 public:
  using Which = std::function<bool(const Iteration&)>;
  virtual ~WaitingLine() = default;

  /// A copy of the newest one that no store has begun; it stays in line.
  virtual std::optional<Iteration> newest(const Which& which) const = 0;
  /// Puts this one into the place of the one with its number. False when that waits no longer.
  virtual bool replace(Iteration iteration) = 0;
};

// Takes iterations that wait for the stores out of the segment and to a disk of the node, the
// newest first, when ranks need the memory. One thread of its own writes them: the event loop never
// waits for a disk.
//
// An iteration stays where it is until its file is whole and the session's journal says what must
// be in it. Then the file takes its place in the stores' line, unless a store has begun it
// meanwhile. The file goes when the iteration is done. Variables that scripts still read stay in
// the segment.
struct SpillerParts {
  int folder = -1;     ///< of this session alone, open as long as this lives; -1: no spilling
  std::string path{};  ///< of the folder, for messages
  std::uint64_t most_bytes = 0;  ///< on the disk at a time
  const void* segment_start = nullptr;
  std::uint64_t segment_bytes = 0;
  std::shared_ptr<Log> log{};
  std::function<void()> wake{};  ///< called from the thread when take_written() has something to do
};

/// All is for the event loop.
class Spiller {
 public:
  /// At its end the thread ends after what it is writing. Files stay.
  Spiller(SpillerParts parts, WaitingLine& line);

  void start(Executor& executor);
  /// A rank needs memory: one more iteration goes to the disk, if one can. Waits for nothing.
  void make_room();
  /// Puts what the thread has written into the pipeline's line, once `append` has put the record into
  /// the journal: false when it could not.
  void take_written(const std::function<bool(const SpillRecord& record)>& append);
  /// All iterations up to this one are through all stores: their files go.
  void forget(std::int64_t done);
  /// For a journal that is rewritten.
  std::vector<JournalRecord> snapshot() const;

  using Files = std::vector<std::shared_ptr<const SpillFile>>;
  /// Before start(): files that a server which has died left, and what its journal says of them;
  /// all others in the folder are removed.
  void restore(std::vector<SpillRecord> records);
  /// Files of this iteration.
  Files files_of(std::int64_t iteration) const;

  /// "12 iterations, 3.0 GiB, waited in ... for the stores"; "" when none did.
  std::string report() const;

 private:
  struct Written {
    Iteration iteration;
    std::shared_ptr<const SpillFile> file;
  };
  struct Total {  // over the whole run
    std::uint64_t iterations = 0, bytes = 0;
  };
  struct Trouble {
    bool said_full = false;
    std::int64_t try_again_ns = 0;  // after a write that failed
    std::uint64_t gone_when_failed = 0;
  };

  void begin_if_wanted();
  std::optional<Written> spill_one();
  bool is_in_segment(const Block& block) const noexcept;
  std::set<std::uint32_t> movable(const Iteration& iteration, long holders) const;
  Iteration part_to_move(const Iteration& iteration) const;
  std::string new_name(std::int64_t iteration) const;
  std::shared_ptr<const SpillFile> write(const Iteration& part);
  std::string why_not(std::uint64_t bytes) const;
  static Iteration with_part_moved(Iteration iteration,
                                   const std::shared_ptr<const SpillFile>& file);
  void remove(const SpillFile& file);

  SpillerParts parts_;
  WaitingLine& line_;
  mutable std::mutex mutex_;
  // With the mutex
  bool wanted_ = false, is_busy_ = false;
  std::optional<Written> written_;  ///< and not in line yet
  std::map<std::int64_t, Files> on_disk_;

  std::atomic<std::uint64_t> bytes_{0}, files_{0}, files_gone_{0};
  Total total_;
  std::atomic<bool> said_failed_{false};
  Trouble trouble_;  // of the thread
  os::Worker worker_;
};

}  // namespace leat::server

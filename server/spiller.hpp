// SPDX-License-Identifier: Apache-2.0
// Takes iterations that wait for the stores out of the segment and to a disk of the node, the
// newest first, when ranks need the memory. One thread of its own: the event loop never waits for a
// disk.
//
// An iteration stays where it is until its file is whole. Then a mapping of the file takes its
// place in the pipeline's line, unless a store has begun it meanwhile. The file goes when the last
// plugin is done with it. Variables that scripts still read stay in the segment.
#pragma once

#include <spdlog/logger.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "server/pipeline.hpp"

namespace leat::server {

struct SpillerParts {
  std::string folder;            ///< of this session alone; "": there is no spilling
  std::uint64_t most_bytes = 0;  ///< on the disk at a time
  const void* segment_start = nullptr;
  std::uint64_t segment_bytes = 0;
  std::shared_ptr<spdlog::logger> log{};
  std::function<void()> wake{};  ///< called from any thread when memory has come back
};

class Spiller {
 public:
  Spiller(SpillerParts parts, Pipeline& pipeline);
  /// Ends the thread after what it is writing; files that the pipeline still holds stay till then.
  ~Spiller();

  void start();
  /// Of the thread, for its placement; 0 until it runs, or without one.
  int thread_id() const noexcept { return thread_id_; }
  /// A rank needs memory: one more iteration goes to the disk, if one can. Waits for nothing.
  void make_room();
  /// Before start(): the iterations, or parts of them, that a server which has died left in the
  /// folder, but those up to `done`, which are removed. Their files go with their holds.
  std::vector<Iteration> take_up(std::int64_t done);
  /// "12 iterations, 3.0 GiB, were on the disk ... meanwhile"; "" when none was.
  std::string report() const;

 private:
  struct Disk;  // what lies there; outlives this object
  struct OnDisk;

  void run();
  bool spill_one();
  bool is_in_segment(const Block& block) const noexcept;
  std::set<std::uint32_t> movable(const Iteration& iteration, long holders) const;
  Iteration part_to_move(const Iteration& iteration) const;
  bool write(const Iteration& part);
  Iteration with_part_moved(Iteration iteration, const Iteration& moved) const;
  void say_once(bool* said, const std::string& text);

  SpillerParts parts_;
  Pipeline& pipeline_;
  std::shared_ptr<Disk> disk_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool wanted_ = false, closing_ = false;
  bool said_full_ = false, said_failed_ = false;  // of the thread
  std::int64_t try_again_ns_ = 0;                 // of the thread: after a write that failed
  std::uint64_t gone_when_failed_ = 0;            // of the thread
  std::atomic<int> thread_id_{0};
  std::thread thread_;
};

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// The one session of this process, and what becomes of it in a child that is forked.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <thread>

#include "client-api/session.hpp"

namespace leat::client {

/// What leat_split has made of this process.
struct Split {
  bool happened = false;  ///< servers are ranks, and this process was in it
  bool served = false;    ///< it was a server
  bool pending = false;   ///< the server waits for this process
  Ranks ranks;            ///< who it is in the simulation
  std::string config;
};

struct Handle {
  std::mutex mutex;
  std::condition_variable idle;
  std::unique_ptr<Session> session;
  std::atomic<std::thread::id> opener{};  ///< the thread that has opened it, or the one before
  int busy = 0;  ///< calls in progress, some of them waiting or copying without the lock
  bool awaits_idle = false;
  bool opening = false;
  bool was_finalized = false;
  bool init_has_failed = false;                   ///< the last one; why was said then
  std::string why_failed{};                       ///< that
  mutable std::atomic<std::uint64_t> in_vain{0};  ///< writes since then
  bool speaks_of_failure = false;                 ///< at the end, for its node
  bool comes_from_mpi = false;                    ///< leat_init_mpi calls the next leat_init_ranks
  bool was_open = false;                          ///< some session of this process was
  Split split;
  int parent = 0;  ///< not 0: forked from that process, which has a session; this one never has
};

/// Once for each leat_init that has failed on this rank: that nothing is stored, and why.
void say_failed_init(Handle& the, const char* when) noexcept;

/// A call in progress; made and destroyed with the lock held.
class BusyMark {
 public:
  explicit BusyMark(Handle& the) : the_(the) { ++the_.busy; }
  ~BusyMark() {
    if (--the_.busy == 0 && the_.awaits_idle) the_.idle.notify_all();
  }

 private:
  Handle& the_;
};

/// Null until handle() was called, and so for good where Leat is switched off.
inline constinit std::atomic<Handle*> used_handle{nullptr};

/// Made at the first call. Never destroyed: a thread may still be in a call when the process ends.
Handle& handle();

/// From here on a child that is forked while a session is open has a handle of its own, and lets go
/// of what tells the server that this process lives. False when memory is out.
bool notices_forks() noexcept;

/// With a server in this process: when it exits without leat_finalize, the server has stored first
/// what was handed over. For what is loaded until now.
void notice_exit() noexcept;

}  // namespace leat::client

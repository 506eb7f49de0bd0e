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

/// The last leat_init, when it has failed, and what the program has called since.
struct FailedInit {
  std::string call, why;  ///< call "": it has not failed
  bool speaks = false;    ///< for the other ranks, too
  int pid = 0;
  std::uint64_t calls = 0, writes = 0;
  bool is_told = false;
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
  FailedInit failed_init;
  bool was_open = false;  ///< some session of this process was
  Split split;
  int parent = 0;  ///< not 0: forked from that process, which has a session; this one never has
};

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

/// "", or that nothing of the run was stored, when the program has gone on after a leat_init that has failed. Printed by the
/// first call. With the lock held.
std::string tell_unstored(Handle& the, const std::string& prefix);

/// With a server in this process: when it exits without leat_finalize, the server has stored first
/// what was handed over. After a leat_init that has failed: says what is not stored. For what is loaded until now.
void notice_exit() noexcept;

}  // namespace leat::client

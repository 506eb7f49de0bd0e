// SPDX-License-Identifier: Apache-2.0
#include "client-api/session_handle.hpp"

#include <unistd.h>

#include <cstdlib>
#include <new>

#include "client-api/hosted_server.hpp"
#include "client-api/last_error.hpp"
#include "lib/os/clock.hpp"
#include "lib/os/process.hpp"

namespace leat::client {
namespace {

constexpr std::int64_t kOtherCallsNs = 1'000'000'000;

// The session itself is left as it is: threads that were in the midst of it are not here any more,
// and its memory may be what the child reads.
void on_fork_in_child() noexcept {
  alignas(Handle) static char place[sizeof(Handle)];
  Handle* const own = used_handle.load(std::memory_order_relaxed);
  const bool is_child_of_child = own && own->parent != 0;
  if (!own || (!is_child_of_child && !own->session && !own->opening)) return;
  const int parent = is_child_of_child ? own->parent : getppid();
  if (!is_child_of_child && own->session) own->session->leave_to_parent();
  auto* const childs = new (place) Handle;  // a child of a child has a new one in the same place
  childs->parent = parent;
  used_handle.store(childs, std::memory_order_relaxed);  // while it has only one thread
  start_anew_in_child();
}

// Other threads may be in the midst of a call still.
void on_end_of_process() noexcept {
  Handle* const own = used_handle.load(std::memory_order_acquire);
  if (!own || own->parent != 0) return;
  std::unique_lock<std::mutex> lock(own->mutex, std::defer_lock);
  for (const platform::Deadline deadline = platform::Deadline::in_ns(kOtherCallsNs);
       !lock.try_lock() && !deadline.passed();)
    platform::pause_shortly();
  if (lock && own->session) own->session->leave_at_exit();
  if (lock) (void)tell_unstored(*own, "");
  HostedServer::await_all();
}

// Of the main thread: such objects go before all that is static, also what was made after them.
struct EndOfMain {
  ~EndOfMain() { on_end_of_process(); }
};

}  // namespace

Handle& handle() {
  static Handle* const own = new Handle;
  Handle* none = nullptr;
  used_handle.compare_exchange_strong(none, own);
  return *used_handle.load(std::memory_order_acquire);
}

bool notices_forks() noexcept {
  static const bool registered = platform::call_in_forked_children(on_fork_in_child);
  return registered;
}

std::string tell_unstored(Handle& the, const std::string& prefix) {
  FailedInit& failed = the.failed_init;
  if (failed.call.empty() || failed.calls == 0 || failed.pid != getpid()) return "";
  const std::string text =
      prefix + "nothing of this run is stored: " + failed.call + " had failed, and " +
      std::to_string(failed.writes) + (failed.writes == 1 ? " write" : " writes") +
      " of this rank came after it. Why: " + failed.why.substr(0, failed.why.find('\n'));
  if (failed.speaks && !failed.is_told) tell(text);
  failed.is_told = true;
  return text;
}

// By whatever thread the process is ended, though not as early then.
void notice_exit() noexcept {
  (void)std::atexit(on_end_of_process);
  if (gettid() != getpid()) return;
  static thread_local const EndOfMain end;
  (void)end;
}

}  // namespace leat::client

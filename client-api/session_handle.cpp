// SPDX-License-Identifier: Apache-2.0
#include "client-api/session_handle.hpp"

#include <unistd.h>

#include <new>

#include "client-api/last_error.hpp"
#include "lib/platform/process.hpp"

namespace leat::client {
namespace {

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

}  // namespace leat::client

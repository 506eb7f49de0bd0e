// SPDX-License-Identifier: Apache-2.0
#include "client-api/session_handle.hpp"

#include <unistd.h>

#include <new>

#include "client-api/last_error.hpp"
#include "lib/platform/process.hpp"

namespace leat::client {
namespace {

// In a child: its own. Written while the child has only one thread.
Handle* child_handle = nullptr;

Handle& own_handle() {
  static Handle* const the_handle = new Handle;
  return *the_handle;
}

// The session itself is left as it is: threads that were in the midst of it are not here any more,
// and its memory may be what the child reads.
void on_fork_in_child() noexcept {
  alignas(Handle) static char place[sizeof(Handle)];
  const Handle& own = own_handle();
  if (!child_handle && !own.session && !own.opening) return;
  const int parent = child_handle ? child_handle->parent : getppid();
  if (!child_handle && own.session) own.session->leave_to_parent();
  child_handle = new (place) Handle;  // a child of a child has a new one in the same place
  child_handle->parent = parent;
  start_anew_in_child();
}

}  // namespace

Handle& handle() { return child_handle ? *child_handle : own_handle(); }

bool notices_forks() noexcept {
  static const bool registered = platform::call_in_forked_children(on_fork_in_child);
  return registered;
}

}  // namespace leat::client

// SPDX-License-Identifier: Apache-2.0
#include "server/pipeline/crash_note.hpp"

#include <signal.h>

namespace leat::server {
namespace {

thread_local std::atomic<std::uint32_t>* count_of_this_thread = nullptr;
// A stack that has run over is no place for the handler.
thread_local char spare_stack[16384];

// Nothing but one store to memory: all that may be done here. The default action comes next.
extern "C" void on_crash(int signal) {
  if (count_of_this_thread) count_of_this_thread->fetch_add(1, std::memory_order_seq_cst);
  raise(signal);
}

}  // namespace

void note_crashes() {
  for (const int signal : kCrashSignals) {
    struct sigaction action {};
    action.sa_handler = on_crash;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_ONSTACK);
    sigaction(signal, &action, nullptr);
  }
}

std::atomic<std::uint32_t>* CrashNote::count_here() noexcept { return count_of_this_thread; }

CrashNote::CrashNote(std::atomic<std::uint32_t>* count) noexcept
    : count_before_(count_of_this_thread) {
  stack_t stack{};
  stack.ss_sp = spare_stack;
  stack.ss_size = sizeof spare_stack;
  sigaltstack(&stack, &before_);
  count_of_this_thread = count;
}

CrashNote::~CrashNote() {
  count_of_this_thread = count_before_;
  sigaltstack(&before_, nullptr);
}

}  // namespace leat::server

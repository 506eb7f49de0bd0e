// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/priority.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

namespace leat::platform {
namespace {

// Not SCHED_IDLE: beside threads that never sleep it would not run at all, with what it has locked.
void be_patient(int nice) noexcept {
  const sched_param none{};
  sched_setscheduler(0, SCHED_BATCH, &none);  // does not preempt others when it wakes up
  setpriority(PRIO_PROCESS, 0, nice);         // on Linux: of this thread
}

}  // namespace

void name_thread(const char* name) noexcept { pthread_setname_np(pthread_self(), name); }

void run_in_background() noexcept { be_patient(19); }

void go_behind_others() noexcept { be_patient(5); }

void run_when_idle() noexcept {
  const sched_param none{};
  sched_setscheduler(0, SCHED_IDLE, &none);
}

}  // namespace leat::platform

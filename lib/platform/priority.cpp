// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/priority.hpp"

#include <sched.h>
#include <sys/resource.h>

namespace leat::platform {
namespace {

// Not SCHED_IDLE: beside threads that never sleep it would not run at all, with what it has locked.
void be_patient(int thread_id, int nice) noexcept {
  const sched_param none{};
  sched_setscheduler(thread_id, SCHED_BATCH, &none);  // does not preempt others when it wakes up
  setpriority(PRIO_PROCESS, static_cast<id_t>(thread_id), nice);  // on Linux: of that thread
}

}  // namespace

void run_in_background() noexcept { be_patient(0, 19); }

void go_behind_others(int thread_id) noexcept { be_patient(thread_id, 5); }

}  // namespace leat::platform

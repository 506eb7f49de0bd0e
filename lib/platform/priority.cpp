// SPDX-License-Identifier: Apache-2.0
#include "lib/platform/priority.hpp"

#include <sched.h>
#include <sys/resource.h>

namespace leat::platform {

// Not SCHED_IDLE: beside threads that never sleep it would not run at all, with what it has locked.
void run_in_background() noexcept {
  constexpr int kNice = 19;
  const sched_param none{};
  sched_setscheduler(0, SCHED_BATCH, &none);
  setpriority(PRIO_PROCESS, 0, kNice);  // on Linux: of the calling thread
}

}  // namespace leat::platform

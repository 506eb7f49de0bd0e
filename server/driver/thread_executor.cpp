// SPDX-License-Identifier: Apache-2.0
#include "server/driver/thread_executor.hpp"

#include <utility>

#include "lib/platform/priority.hpp"

namespace leat::server {

std::jthread ThreadExecutor::run(const char* name, Urgency urgency, std::function<void()> work) {
  return std::jthread([name, urgency, work = std::move(work)] {
    platform::name_thread(name);
    if (urgency == Urgency::behind_others) platform::go_behind_others();
    if (urgency == Urgency::background) platform::run_in_background();
    work();
  });
}

}  // namespace leat::server

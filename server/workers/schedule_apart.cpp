// SPDX-License-Identifier: Apache-2.0
#include "server/workers/schedule_apart.hpp"

#include "server/workers/coordination.hpp"
#include "server/workers/harvest.hpp"

namespace leat::server {

std::unique_ptr<ScheduleApart> schedule_apart(model::Schedule schedule,
                                              const shm::Segment& segment) {
  if (schedule == model::Schedule::harvest) return std::make_unique<Harvest>(segment);
  if (schedule == model::Schedule::coordinated) return std::make_unique<Coordination>(segment);
  return nullptr;
}

}  // namespace leat::server

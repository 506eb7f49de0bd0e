// SPDX-License-Identifier: Apache-2.0
#include "server/scripts/pending_iterations.hpp"

namespace leat::server {

std::shared_ptr<const void> PendingIterations::hold(std::int64_t iteration) const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  const auto place = state_->all.insert(iteration);
  state_->note();
  return {static_cast<const void*>(&*place), [state = state_, place](const void*) {
            const std::lock_guard<std::mutex> end(state->mutex);
            state->all.erase(place);
            state->note();
          }};
}

}  // namespace leat::server

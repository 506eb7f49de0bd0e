// SPDX-License-Identifier: Apache-2.0
#include "server/session/block_pins.hpp"

#include <utility>

namespace leat::server {

BlockPins::BlockPins(std::function<void()> wake)
    : queue_(std::make_shared<Queue>(std::move(wake))) {}

// Once for all that is taken together: a wake-up is a system call.
BlockPins::Pin::~Pin() {
  bool is_first = false;
  {
    const std::lock_guard<std::mutex> lock(queue->mutex);
    queue->returned.push_back(std::move(blocks));
    // The lock orders what it stands for.
    is_first = !queue->any.exchange(true, std::memory_order_relaxed);
  }
  if (is_first) queue->wake();
}

void BlockPins::pin(Iteration* iteration) {
  const auto& blocks = iteration->blocks;
  for (auto first = blocks.begin(); first != blocks.end();) {
    auto last = first;
    while (last != blocks.end() && last->variable == first->variable) ++last;
    iteration->pins.emplace(
        first->variable, std::shared_ptr<Pin>(new Pin{queue_, {iteration->number, {first, last}}}));
    first = last;
  }
}

std::vector<Returned> BlockPins::take_returned() {
  if (!any_returned()) return {};
  const std::lock_guard<std::mutex> lock(queue_->mutex);
  queue_->any.store(false, std::memory_order_relaxed);
  return std::exchange(queue_->returned, {});
}

}  // namespace leat::server

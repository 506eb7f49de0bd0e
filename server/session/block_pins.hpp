// SPDX-License-Identifier: Apache-2.0
// Who still reads a block: plugins, scripts. Blocks go back to the event loop, which owns the
// segment, when the last of them has let go, on whatever thread that is.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "server/session/iteration.hpp"

namespace leat::server {

/// Blocks of one iteration that nobody reads any more.
struct Returned {
  std::int64_t iteration = 0;
  std::vector<Block> blocks;
};

class BlockPins {
 public:
  /// `wake` is called from any thread after a return; it must be quick. Pins may outlive this
  /// object.
  explicit BlockPins(std::function<void()> wake);

  /// Gives each variable of the iteration a pin of its own.
  void pin(Iteration* iteration);

  /// Cheap enough to be asked in a loop.
  bool any_returned() const noexcept { return queue_->any.load(std::memory_order_relaxed); }
  std::vector<Returned> take_returned();

 private:
  struct Queue {
    explicit Queue(std::function<void()> wake_up) : wake(std::move(wake_up)) {}
    std::function<void()> wake;
    std::mutex mutex;
    std::vector<Returned> returned;
    std::atomic<bool> any{false};
  };
  struct Pin {
    std::shared_ptr<Queue> queue;
    Returned blocks;
    ~Pin();
  };

  std::shared_ptr<Queue> queue_;
};

}  // namespace leat::server

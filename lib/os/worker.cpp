// SPDX-License-Identifier: Apache-2.0
#include "lib/os/worker.hpp"

#include <utility>

namespace leat::os {

void Worker::start(const StartThread& start_thread) {
  thread_ = start_thread([this] { run(); });
}

void Worker::post(Task task) {
  const std::lock_guard<std::mutex> lock(mutex_);
  tasks_.push_back(std::move(task));
  changed_.notify_all();
}

bool Worker::is_idle() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return tasks_.empty();
}

void Worker::wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return tasks_.empty(); });
}

void Worker::finish() {
  wait();
  stop();
}

void Worker::stop() noexcept {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void Worker::run() noexcept {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (stopping_) break;
    Task task = std::move(tasks_.front());
    lock.unlock();
    task();
    task = nullptr;  // what it holds ends before anybody takes it for done
    lock.lock();
    tasks_.pop_front();
    changed_.notify_all();
  }
  tasks_.clear();
  changed_.notify_all();
}

}  // namespace leat::os

// SPDX-License-Identifier: Apache-2.0
#include "server/driver/thread_executor.hpp"

#include <unistd.h>

#include <mutex>
#include <set>
#include <utility>

#include "lib/platform/priority.hpp"

namespace leat::server {

// The kernel's numbers of threads. One that has ended gives its number to others.
class ThreadExecutor::AtWork {
 public:
  void begin() {
    const std::lock_guard<std::mutex> lock(mutex_);
    threads_.insert(gettid());
  }
  void end() {
    const std::lock_guard<std::mutex> lock(mutex_);
    threads_.erase(gettid());
  }
  void bind(const platform::CpuSet& cpus) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const int each : threads_) platform::set_affinity(cpus, each);
  }

 private:
  std::mutex mutex_;
  std::set<int> threads_;
};

ThreadExecutor::ThreadExecutor() : at_work_(std::make_shared<AtWork>()) {}
ThreadExecutor::~ThreadExecutor() = default;

std::jthread ThreadExecutor::run(const char* name, Urgency urgency, std::function<void()> work) {
  return std::jthread([name, urgency, at_work = at_work_, work = std::move(work)] {
    platform::name_thread(name);
    if (urgency == Urgency::behind_others) platform::go_behind_others();
    if (urgency == Urgency::background) platform::run_in_background();
    at_work->begin();
    work();
    at_work->end();
  });
}

void ThreadExecutor::bind(const platform::CpuSet& cpus) { at_work_->bind(cpus); }

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/disk/early_writeback.hpp"

#include <fcntl.h>

#include <exception>

namespace leat::hdf5 {
namespace {

// Less is not worth a call, and would write the pages at the ends more than once.
constexpr std::uint64_t kWriteBackStep = 8 << 20;

}  // namespace

void EarlyWriteback::upto(int fd, std::uint64_t end) {
  {
    const std::lock_guard lock(mutex_);
    if (end < wanted_ + kWriteBackStep) return;
    wanted_ = end;
  }
  try {
    if (!thread_.joinable()) thread_ = std::thread([this, fd] { run(fd); });
  } catch (const std::exception&) {
    return;  // no more threads: the system writes when it likes
  }
  changed_.notify_one();
}

void EarlyWriteback::run(int fd) {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stops_ || wanted_ > asked_; });
    if (stops_) return;
    const auto from = static_cast<off_t>(asked_), bytes = static_cast<off_t>(wanted_ - asked_);
    asked_ = wanted_;
    lock.unlock();
    // Where a file system cannot, it writes as it likes.
    ::sync_file_range(fd, from, bytes, SYNC_FILE_RANGE_WRITE);
    lock.lock();
  }
}

void EarlyWriteback::stop() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

}  // namespace leat::hdf5

// SPDX-License-Identifier: Apache-2.0
// Has the system write a file to the disk while it grows. Left to itself, it begins when a tenth of
// the memory waits to be written, and the fsync at the end of a run then takes minutes on a large
// node.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace leat::hdf5 {

/// A thread of its own, since the system makes who asks wait when the disk has much to do.
class EarlyWriteback {
 public:
  EarlyWriteback() = default;
  EarlyWriteback(const EarlyWriteback&) = delete;
  ~EarlyWriteback() { stop(); }

  /// What is in the file `fd` from the last such place up to `end` goes to the disk soon, when that
  /// is worth while. Does not wait, and does not say whether it got there: fsync does. `fd` stays
  /// open till stop().
  void upto(int fd, std::uint64_t end);
  /// Nothing is asked of `fd` any more. The last call.
  void stop();

 private:
  void run(int fd);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t asked_ = 0, wanted_ = 0;  // ends
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace leat::hdf5

// SPDX-License-Identifier: Apache-2.0
// Memory that data are copied to which do not lie as the disk takes them. The system finds pages for
// it once, and it is used again and again.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

namespace leat::raw {

class Buffers {
 public:
  /// Of each. A large page, where there are some: it begins on one.
  static constexpr std::size_t kBytes = 2ull * 1024 * 1024;

  Buffers() = default;
  Buffers(const Buffers&) = delete;
  ~Buffers();

  /// One that nobody else has, so that there are as many as threads that write at the same time.
  /// Null: there is no memory.
  char* take();
  void give_back(char* buffer);

 private:
  std::mutex mutex_;
  std::vector<char*> free_;
};

}  // namespace leat::raw

// SPDX-License-Identifier: Apache-2.0
// Durations of one kind of call, kept in memory that parent and forked clients share.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace leat::bench {

/// What is measured. A hot target is the same at each copy, a cold one lies in memory that no cache
/// holds; first_write and first_memcpy, to a cold target, are those that come right after the
/// simulation has computed.
enum class Kind {
  memcpy_hot,
  memcpy_cold,
  first_memcpy,
  write,
  first_write,
  alloc,
  commit,
  end_iteration
};
inline constexpr int kKinds = 8;
inline constexpr const char* kKindNames[kKinds] = {"memcpy_hot", "memcpy_cold",  "first_memcpy",
                                                   "write",      "first_write",  "alloc",
                                                   "commit",     "end_iteration"};

struct Percentiles {
  double p50 = 0, p99 = 0, p999 = 0, max = 0;  ///< nanoseconds
  std::size_t samples = 0;
};

/// One client's samples; each client writes its own part.
class Samples {
 public:
  Samples(int clients, int most) : clients_(clients), most_(most) {
    const std::size_t bytes = sizeof(Lane) + sizeof(float) * static_cast<std::size_t>(most);
    stride_ = (bytes + 63) / 64 * 64;
    memory_ = static_cast<char*>(mmap(nullptr, stride_ * count(), PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  }
  Samples(const Samples&) = delete;
  ~Samples() { munmap(memory_, stride_ * count()); }

  void add(int client, Kind kind, std::int64_t ns) {
    Lane& of = lane(client, kind);
    if (of.used < most_) values(of)[of.used++] = static_cast<float>(ns);
  }

  /// Over all clients.
  Percentiles percentiles(Kind kind) const {
    std::vector<float> all;
    for (int client = 0; client < clients_; ++client) {
      Lane& of = lane(client, kind);
      all.insert(all.end(), values(of), values(of) + of.used);
    }
    if (all.empty()) return {};
    std::sort(all.begin(), all.end());
    const auto at = [&](double part) {
      return all[static_cast<std::size_t>(part * static_cast<double>(all.size() - 1) + 0.5)];
    };
    return {at(0.5), at(0.99), at(0.999), all.back(), all.size()};
  }

 private:
  struct Lane {
    int used;
  };

  std::size_t count() const { return static_cast<std::size_t>(clients_) * kKinds; }
  Lane& lane(int client, Kind kind) const {
    const auto index = static_cast<std::size_t>(client * kKinds + static_cast<int>(kind));
    return *reinterpret_cast<Lane*>(memory_ + index * stride_);
  }
  static float* values(Lane& lane) { return reinterpret_cast<float*>(&lane + 1); }

  int clients_, most_;
  std::size_t stride_;
  char* memory_;
};

}  // namespace leat::bench

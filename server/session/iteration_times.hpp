// SPDX-License-Identifier: Apache-2.0
// How long iterations took, as the ranks say. Private to the engine's thread.
#pragma once

#include <cstdint>
#include <vector>

namespace leat::server {

class IterationTimes {
 public:
  /// Of one rank, or of all: means over iterations, in seconds, from one end to the next.
  struct Figures {
    std::uint64_t intervals = 0;  ///< between ends that were seen; of the rank with the most
    double seconds = 0;           ///< mean
    double deviation = 0;         ///< standard deviation from one iteration to the other
    double longest = 0;
    double inside = 0;  ///< of `seconds`: in Leat's calls, but for copies of less than 32 KiB
    std::int64_t first_ns = 0;  ///< the first end, monotonic
  };

  explicit IterationTimes(std::size_t clients) : clients_(clients) {}

  /// `iterations`: that the rank has ended by this, one but where it has skipped some.
  void ended(std::uint32_t client, std::int64_t at_ns, std::uint64_t inside_ns,
             std::int64_t iterations);
  /// Mean over the ranks of what they have computed so far, outside of Leat's calls, in seconds.
  double computing() const;
  /// The mean over the ranks; `longest` and `first_ns` are the extremes.
  Figures figures() const;

 private:
  struct Client {
    std::int64_t first_ns = 0, last_ns = 0;
    std::uint64_t inside_ns = 0;  // since the first end
    std::uint64_t intervals = 0;
    double mean = 0, squares = 0, longest = 0;  // by Welford's method
  };
  std::vector<Client> clients_;
};

}  // namespace leat::server

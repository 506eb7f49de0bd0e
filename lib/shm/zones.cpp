// SPDX-License-Identifier: Apache-2.0
#include "lib/shm/zones.hpp"

#include <algorithm>
#include <map>

namespace leat::server {
namespace {

// Common regions that a rank has at a time: one that it fills, one to follow, one that is stored.
constexpr std::uint64_t kCommonEach = 3;
// Of all data, the most that is set aside for them.
constexpr std::uint64_t kPartForCommon = 4;
// No huge page lies on two nodes.
constexpr std::uint64_t kHugePage = 2 << 20;

// Cuts a range between its owners, in order.
class Cutter {
 public:
  Cutter(shm::Region range, std::size_t shares) : range_(range), shares_(shares) {}

  shm::Region next(std::size_t shares) {
    const std::uint64_t begin = at(done_);
    done_ += shares;
    return {begin, at(done_) - begin};
  }

 private:
  std::uint64_t at(std::size_t shares) const {
    const std::uint64_t end = range_.offset + range_.bytes;
    if (shares == 0) return range_.offset;
    if (shares == shares_) return end;
    const std::uint64_t exact = range_.offset + range_.bytes / shares_ * shares;
    return std::max(range_.offset, exact / kHugePage * kHugePage);
  }

  shm::Region range_;
  std::size_t shares_, done_ = 0;
};

}  // namespace

std::vector<shm::Region> Zone::ranges() const {
  std::vector<shm::Region> all;
  for (const shm::Region& each : {small, large}) {
    if (each.bytes > 0) all.push_back(each);
  }
  return all;
}

std::vector<Zone> zones_of(shm::Region data, std::uint64_t common_region_bytes,
                           const std::vector<int>& of_rank) {
  std::map<int, std::size_t> ranks;
  for (const int node : of_rank) ++ranks[node];
  if (ranks.empty()) return {};
  if (ranks.size() == 1) return {{ranks.begin()->first, {data.offset, 0}, data}};
  const std::uint64_t common =
      std::min(kCommonEach * common_region_bytes * of_rank.size(), data.bytes / kPartForCommon);
  const std::uint64_t border = (data.offset + common) / kHugePage * kHugePage;
  const std::uint64_t middle = std::max(data.offset, border);
  Cutter small({data.offset, middle - data.offset}, of_rank.size());
  Cutter large({middle, data.offset + data.bytes - middle}, of_rank.size());
  std::vector<Zone> zones;
  for (const auto& [node, count] : ranks) {
    const shm::Region first = small.next(count);
    zones.push_back({node, first, large.next(count)});
  }
  return zones;
}

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
#include "server/workers/harvest.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "server/workers/words.hpp"

namespace leat::server {

void Harvest::take(const Frame& answer) {
  work_ns_ += integer_of(member_of(answer.head, "work_ns")).value_or(0);
  pieces_ += integer_of(member_of(answer.head, "pieces")).value_or(0);
  outlasted_ += integer_of(member_of(answer.head, "outlasted")).value_or(0);
}

std::string Harvest::report() const {
  std::uint64_t ns = 0, phases = 0, left_alone = 0, mispredicted = 0;
  for (std::uint32_t i = 0; i < segment_.header().client_count; ++i) {
    const shm::ClientLane& lane = *segment_.client(i).client;
    ns += lane.idle_ns.load(std::memory_order_relaxed);
    phases += lane.idle_phases.load(std::memory_order_relaxed);
    left_alone += lane.left_alone.load(std::memory_order_relaxed);
    mispredicted += lane.mispredicted.load(std::memory_order_relaxed);
  }
  const std::string worked =
      fmt::format("it has worked for {:.3g} s in {} pieces, of which {} outlasted their phase",
                  static_cast<double>(work_ns_) * 1e-9, pieces_, outlasted_);
  if (phases == 0)
    return "no rank has said when it idles, by leat_idle_begin or LD_PRELOAD=libleat_pmpi.so: " +
           worked + ", while ranks waited for Leat or had ended";
  return fmt::format(
      "ranks have idled for {:.3g} s in {} phases, {} of them left alone as short, {} longer or "
      "shorter than expected; {}",
      static_cast<double>(ns) * 1e-9, phases, left_alone, mispredicted, worked);
}

}  // namespace leat::server

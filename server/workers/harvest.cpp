// SPDX-License-Identifier: Apache-2.0
#include "server/workers/harvest.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "server/workers/words.hpp"

namespace leat::server {
void Harvest::take(const Frame& answer) {
  work_ns_ += number_in(answer, "work_ns");
  pieces_ += number_in(answer, "pieces");
  outlasted_ += number_in(answer, "outlasted");
  longest_outlasted_ns_ =
      std::max(longest_outlasted_ns_.load(), number_in(answer, "longest_outlasted_ns"));
}

// When a phase ended within a piece is not known: the core was back as long after it as the piece
// took, or sooner.
IdleUse Harvest::idle_use() const noexcept {
  IdleUse use;
  for (std::uint32_t i = 0; i < segment_.header().client_count; ++i) {
    const shm::ClientLane& lane = *segment_.client(i).client;
    use.found_seconds += static_cast<double>(lane.idle_ns.load(std::memory_order_relaxed)) * 1e-9;
    use.phases += lane.idle_phases.load(std::memory_order_relaxed);
    use.left_alone += lane.left_alone.load(std::memory_order_relaxed);
    use.mispredicted += lane.mispredicted.load(std::memory_order_relaxed);
  }
  use.used_seconds = static_cast<double>(work_ns_.load()) * 1e-9;
  use.pieces = static_cast<std::uint64_t>(pieces_.load());
  use.outlasted = static_cast<std::uint64_t>(outlasted_.load());
  use.late_seconds = static_cast<double>(longest_outlasted_ns_.load()) * 1e-9;
  return use;
}

std::string Harvest::report() const {
  const IdleUse all = idle_use();
  std::string worked =
      fmt::format("it has worked for {:.3g} s in {} pieces, of which {} outlasted their phase",
                  all.used_seconds, all.pieces, all.outlasted);
  if (all.outlasted > 0) worked += fmt::format(", by {:.2g} ms at most", all.late_seconds * 1e3);
  if (all.phases == 0)
    return "no rank has said when it idles, by leat_idle_begin, LD_PRELOAD=libleat_pmpi.so or "
           "OMP_TOOL_LIBRARIES=libleat_ompt.so: " +
           worked + ", while ranks waited for Leat or had ended";
  return fmt::format(
      "ranks have idled for {:.3g} s in {} phases, {} of them left alone as short, {} longer or "
      "shorter than expected; {}",
      all.found_seconds, all.phases, all.left_alone, all.mispredicted, worked);
}

}  // namespace leat::server

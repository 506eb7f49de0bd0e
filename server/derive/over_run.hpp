// SPDX-License-Identifier: Apache-2.0
// reduce="...": values of all ranks of the run become one, or an array that is the same on all servers. One server has it in its files.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "lib/comm/group.hpp"
#include "server/derive/derived_jobs.hpp"
#include "server/derive/derived_memory.hpp"
#include "server/derive/derived_values.hpp"
#include "server/derive/making.hpp"
#include "server/derive/space_reduction.hpp"

namespace leat::server {

class OverRun {
 public:
  /// What all servers of the run come to.
  struct Outcome {
    comm::Columns columns;
    comm::Rank self = 0, servers = 1;
    comm::Rank took_part = 1;  ///< be it with nothing
  };
  /// The `call`-th reduction of an iteration: waits for the other servers. Nothing where it is not known in time.
  using Reduce =
      std::function<std::optional<Outcome>(std::int64_t iteration, std::uint16_t call,
                                           std::function<comm::Columns(comm::Rank)> columns)>;

  /// Both outlive it.
  OverRun(DerivedValues* values, DerivedMemory* memory) : values_(*values), memory_(*memory) {}
  /// Before the first iteration. Without it this server is the only one.
  void reduce_by(Reduce reduce) { reduce_ = std::move(reduce); }

  /// Other servers make it with this one.
  bool is_shared() const noexcept { return static_cast<bool>(reduce_); }
  /// Makes a variable with a reduction.
  void make(std::uint32_t variable, Making* making);

 private:
  void add(std::uint32_t variable, const DerivedJob& job, SpaceReducer* reducer, ValuesMade* made,
           Making* making);
  std::optional<Outcome> ask_all(std::uint32_t variable,
                                 const std::shared_ptr<SpaceReducer>& reducer,
                                 const Making& making) const;
  void tell(std::uint32_t variable, const SpaceReducer& reducer, const Outcome& outcome,
            const std::vector<DerivedJob>& jobs, ValuesMade* made, Making* making);

  DerivedValues& values_;
  DerivedMemory& memory_;
  Reduce reduce_{};
};

}  // namespace leat::server

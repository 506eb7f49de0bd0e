// SPDX-License-Identifier: Apache-2.0
// What a plugin has made of the idle phases of the ranks of its node, on leatd's side.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "lib/shm/segment.hpp"
#include "server/session/idle_use.hpp"
#include "server/workers/frame.hpp"

namespace leat::server {

class Harvest final : public IdleUser {
 public:
  explicit Harvest(const shm::Segment& segment) : segment_(segment) {}

  /// While one lives, ranks wake the plugin's process when they idle.
  class Wanted {
   public:
    explicit Wanted(const Harvest& harvest)
        : harvesters_(harvest.segment_.server_state().harvesters) {
      harvesters_.fetch_add(1, std::memory_order_seq_cst);
    }
    Wanted(const Wanted&) = delete;
    ~Wanted() { harvesters_.fetch_sub(1, std::memory_order_seq_cst); }

   private:
    std::atomic<std::uint32_t>& harvesters_;
  };

  /// What its process says of a call.
  void take(const Frame& answer);
  IdleUse use() const noexcept override;
  /// For the log, at the end.
  std::string report() const;

 private:
  const shm::Segment& segment_;
  std::atomic<std::int64_t> work_ns_{0}, longest_outlasted_ns_{0};
  std::atomic<std::int64_t> pieces_{0}, outlasted_{0};
};

}  // namespace leat::server

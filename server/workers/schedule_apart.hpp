// SPDX-License-Identifier: Apache-2.0
// How a plugin in a process of its own comes by time on the simulation's cores, on leatd's side.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "lib/model/model.hpp"
#include "lib/shm/segment.hpp"
#include "server/session/schedule_use.hpp"
#include "server/workers/frame.hpp"

namespace leat::server {

class ScheduleApart : public ScheduleUser {
 public:
  /// What its process says of a call.
  virtual void take(const Frame& answer) = 0;
  /// For the log, at the end.
  virtual std::string report() const = 0;
  /// How many plugins have work, for ranks, who wake them.
  virtual std::atomic<std::uint32_t>& wanted() const noexcept = 0;
};

/// While one lives, ranks wake the plugin's process.
class Wanted {
 public:
  explicit Wanted(const ScheduleApart& schedule) : number_(schedule.wanted()) {
    number_.fetch_add(1, std::memory_order_seq_cst);
  }
  Wanted(const Wanted&) = delete;
  ~Wanted() { number_.fetch_sub(1, std::memory_order_seq_cst); }

 private:
  std::atomic<std::uint32_t>& number_;
};

/// Null where it needs none: what is idle takes what nobody else wants.
std::unique_ptr<ScheduleApart> schedule_apart(model::Schedule schedule,
                                              const shm::Segment& segment);

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// What ranks report of their failed calls, and their deaths, said once for all ranks and variables that have the same to
// say: mostly all make the same mistake, or end, in the same moment. Private to the event loop.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lib/model/model.hpp"
#include "lib/shm/handshake.hpp"
#include "server/state/run.hpp"

namespace leat::server {

class ReportBook {
 public:
  /// Reports of other ranks are waited for so long.
  static constexpr std::int64_t kWaitNs = 300'000'000;
  /// Of one client; what it says beyond that is not kept.
  static constexpr std::size_t kMostOfAClient = 256;

  ReportBook(const model::Model& model, std::uint32_t clients);

  void take(std::uint32_t client, std::int32_t rank, const shm::Report& report,
            std::int64_t now_ns);
  /// It ended without leat_finalize, in this iteration.
  void died(std::int32_t rank, std::int64_t iteration, std::int64_t now_ns);
  /// Why a write of this client failed, for the ledger: the text of its report `number`, in words
  /// that are the same for all variables; "" when there is none.
  std::string why(std::uint32_t client, std::uint32_t number) const;
  bool has_waiting() const noexcept { return !groups_.empty() || !deaths_.empty(); }
  struct Line {
    LogLevel level =
        LogLevel::error;  ///< error: of a call that failed; else only something to know
    std::string text;
  };
  /// What is to be said now; `all`: without waiting for other ranks.
  std::vector<Line> take_due(std::int64_t now_ns, bool all);

 private:
  struct Group {
    std::string shape, first;  // what all have in common; as the first rank said it
    std::vector<std::int32_t> ranks;
    std::vector<std::uint32_t> variables;
    std::int64_t until_ns = 0;
    LogLevel level = LogLevel::error;
  };
  struct Deaths {
    std::vector<std::int32_t> ranks;
    std::int64_t until_ns = 0;
  };
  std::string text_of_group(const Group& group) const;

  const model::Model& model_;
  std::vector<std::vector<std::pair<std::uint32_t, std::string>>> whys_;  // by client: number, why
  std::vector<Group> groups_;
  std::map<std::int64_t, Deaths> deaths_;  // by iteration
};

}  // namespace leat::server

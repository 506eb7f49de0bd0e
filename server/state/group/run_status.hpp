// SPDX-License-Identifier: Apache-2.0
// What all servers of a run say of themselves, for who asks one of them. Private to the engine's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "server/state/group/run_rounds.hpp"

namespace leat::server {

// Nothing is said as long as nobody asks. Who is asked contributes to a round of the status channel, the others learn after a moment that they
// are awaited in it, and contribute too. At its end each server contributes to channel::ends what became of its part.
class RunStatus {
 public:
  /// What a server says of itself, as JSON: of the moment when it was asked.
  using Row = std::function<std::string()>;
  struct Rows {
    std::map<comm::Rank, std::string> rows;  ///< of servers that have answered
    std::int64_t at_ns = 0;                  ///< when they came; 0: never
  };

  RunStatus(const Run& run, RunRounds& rounds);
  /// Before anybody asks.
  void set_row(Row row) { row_ = std::move(row); }

  /// The others are asked, unless they are just being asked.
  void ask();
  /// The last answers.
  const Rows& rows() const noexcept { return rows_; }

  /// This server is at its end, and this is what became of its part.
  void end(const std::string& row);
  /// What all have said at their ends; empty as long as some have not.
  const std::map<comm::Rank, std::string>& ends() const noexcept { return ends_; }

 private:
  void contribute(std::int64_t number);

  const Run& run_;
  RunRounds& rounds_;
  Row row_;
  Rows rows_;
  std::map<comm::Rank, std::string> ends_;
  std::int64_t contributed_ = -1,
               last_ = -1;  // of the status channel; and the last with an outcome
};

}  // namespace leat::server

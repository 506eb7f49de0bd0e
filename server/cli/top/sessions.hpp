// SPDX-License-Identifier: Apache-2.0
// The sessions of this user on this node that `leat top` watches, and what it shows of each.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/cli/top/screen.hpp"
#include "server/cli/top/watch.hpp"

namespace leat::cli::top {

/// What is shown of it. `columns`: for the history of its buffer.
Shown shown_of(const Watch& watch, std::int64_t now_ns, std::size_t columns,
               std::uint64_t of_iterations);

/// "12:04:31"; with the date for logs.
std::string clock_text(bool with_date);

class Sessions {
 public:
  explicit Sessions(std::int64_t interval_ns) : interval_ns_(interval_ns) {}

  /// Watches it, if it is not watched already.
  Watch& add(const std::string& session);
  /// Looks for new ones once in a second, and lets go of those that ended a while ago.
  void discover(std::int64_t now_ns);
  /// Turns all. True: something is new.
  bool turn(std::int64_t now_ns);
  /// Null: it is not watched (any more).
  Watch* find(const std::string& session) noexcept;

  const std::vector<std::unique_ptr<Watch>>& all() const noexcept { return all_; }

 private:
  std::int64_t interval_ns_, discovered_ns_ = 0;
  std::vector<std::unique_ptr<Watch>> all_;  // by name
};

}  // namespace leat::cli::top

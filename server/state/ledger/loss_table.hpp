// SPDX-License-Identifier: Apache-2.0
// What was lost or dropped, as a table for people.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "server/state/ledger/ledger.hpp"

namespace leat::server {

// What went wrong in a run besides its data: ranks that died, scripts that failed or left iterations out, warnings.

/// A line for all ranks that died in one iteration, and one for each script that is not as it
/// should be, one for each of the first warnings; at most some 20 lines. `causes`: why scripts failed, which the log has
/// said when they did.
std::vector<std::string> problems_of(const Ledger& ledger, bool causes);

// Cells in columns, for a terminal.

/// The last column is wrapped at spaces, the one before it is aligned to the right.
class TextTable {
 public:
  static constexpr std::size_t kColumns = 6;
  using Line = std::array<std::string, kColumns>;

  explicit TextTable(Line heads) : lines_{std::move(heads)} {}
  void add(Line line) { lines_.push_back(std::move(line)); }
  std::size_t lines() const { return lines_.size() - 1; }
  /// Each line by itself, wrapped ones with their line ends within; the heads first.
  std::vector<std::string> text(std::size_t width) const;

 private:
  std::vector<Line> lines_;
};

/// With "..." when it is longer than `most`.
std::string cut(const std::string& text, std::size_t most);

// What was lost or dropped as a table for people, and what else went wrong: the server's last word to its clients and its
// log.

/// "" when all is well: nobody died, no script failed, there is no warning. At most some 20 lines of at most 100 columns, and `most`
/// bytes; `file` has it all. `causes`: see problems_of().
std::string loss_table(const Ledger& ledger, const std::string& file, std::size_t most,
                       bool causes = true);

}  // namespace leat::server

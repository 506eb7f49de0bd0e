// SPDX-License-Identifier: Apache-2.0
// Cells in columns, for a terminal.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace leat::server {

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

}  // namespace leat::server

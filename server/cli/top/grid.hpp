// SPDX-License-Identifier: Apache-2.0
// A screen as cells of characters: what `leat top` draws on, shown by ncurses or printed as text, and compared in tests.
#pragma once

#include <string>
#include <vector>

#include "lib/base/table.hpp"

namespace leat::cli::top {

struct GridCell {
  std::string text = " ";  ///< one character in UTF-8
  Paint paint = Paint::plain;
};

// Rows come as they are written to; what does not fit into the width is cut.
class Grid {
 public:
  explicit Grid(std::size_t width) : width_(width) {}

  std::size_t width() const noexcept { return width_; }
  std::size_t height() const noexcept { return rows_.size(); }
  const std::vector<GridCell>& row(std::size_t number) const { return rows_[number]; }

  /// Writes from a cell on; returns the column after it. Control characters, which names of others may have, become "?".
  std::size_t put(std::size_t row, std::size_t column, const std::string& text,
                  Paint paint = Paint::plain);
  /// Ends in the column before `end`.
  void put_right(std::size_t row, std::size_t end, const std::string& text,
                 Paint paint = Paint::plain);
  void need_rows(std::size_t count);
  /// Of a grid of the same width; nothing where it has no such row.
  void copy_row(std::size_t row, const Grid& from, std::size_t row_there);

  /// Of one row, without blanks at its end.
  std::string text_of_row(std::size_t number, const Look& look = {}) const;
  std::string text(const Look& look = {}) const;

 private:
  std::size_t width_;
  std::vector<std::vector<GridCell>> rows_;
};

/// The characters of a text in UTF-8; a byte that is part of none is one itself, as "?".
std::vector<std::string> characters_of(const std::string& text);

}  // namespace leat::cli::top

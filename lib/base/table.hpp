// SPDX-License-Identifier: Apache-2.0
// Text in columns, for screens and logs: as wide as its widest cells, in characters and not in bytes, and narrower where the
// terminal is.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace leat {

enum class Paint { plain, bold, dim, red, green, yellow };

/// How text is to look where it goes.
struct Look {
  bool colours = false;
  std::size_t width = 0;  ///< columns of the terminal; 0: no limit, for files and pipes
};

std::string painted(const std::string& text, Paint paint, const Look& look);

/// Characters of UTF-8: names and units have degrees, powers and umlauts.
std::size_t width_of(const std::string& text);
/// With "..." when it is longer than `most` characters.
std::string cut(const std::string& text, std::size_t most);

struct Cell {
  std::string text;
  Paint paint = Paint::plain;
};

struct Column {
  std::string title{};
  bool right = false;  ///< aligned to the right
  std::size_t least =
      0;                ///< characters that it may be cut to where there is no room; 0: it may not
  bool may_go = false;  ///< where that is not enough it is left out, the last such column first
  bool wraps = false;   ///< of the last one: at spaces, into four lines at most
};

// Where a table is too wide although columns were cut and left out, each row becomes a paragraph:
// its first cell, and below it the others, broken between cells.
class Table {
 public:
  /// Without any titles there is no line of them.
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// Cells that are missing at the end are empty.
  void add(std::vector<Cell> row);
  /// The titles, then each row by itself, indented by two; without the end of its last line.
  std::vector<std::string> rows(const Look& look) const;
  /// All of them, each with its end.
  std::string text(const Look& look) const;

 private:
  using Rows = std::vector<std::vector<Cell>>;

  Rows with_titles() const;
  std::vector<std::size_t> widths_of(const Rows& rows) const;
  bool may_be_cut(std::size_t column) const;
  std::size_t least_width(const std::vector<std::size_t>& widths) const;
  bool leave_out_one();
  void fit(Rows* rows, const Look& look) const;
  std::string line(const std::vector<Cell>& row, const std::vector<std::size_t>& widths,
                   const Look& look) const;

  std::vector<Column> columns_;
  Rows rows_;
};

}  // namespace leat

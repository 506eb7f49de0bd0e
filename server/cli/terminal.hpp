// SPDX-License-Identifier: Apache-2.0
// Text for terminals: colours and aligned columns.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace leat::cli {

enum class Paint { plain, bold, dim, red, green, yellow };

/// How text is to look where a stream goes.
struct Look {
  bool colours = false;   ///< a terminal, and neither NO_COLOR nor TERM=dumb is set
  std::size_t width = 0;  ///< columns of the terminal; 0: no limit, for files and pipes
};
Look look_of(std::FILE* stream);

std::string painted(const std::string& text, Paint paint, bool colours);

struct Cell {
  std::string text;
  Paint paint = Paint::plain;
  bool right = false;  ///< aligned to the right
};

/// The first row of a table.
std::vector<Cell> header(const std::vector<std::string>& titles);

/// Lines of a table, indented by two; columns are as wide as their widest cell in characters.
std::string table(const std::vector<std::vector<Cell>>& rows, const Look& look);

/// The same, `rows` having a header in front. Where it is wider than the terminal each row becomes
/// a paragraph: its first cell, and below it the others, broken between cells.
std::string table_or_paragraphs(const std::vector<std::vector<Cell>>& rows, const Look& look);

/// A column that may be cut, with "…", to so many characters.
struct Shrinkable {
  std::size_t column;
  std::size_t least;
};

/// Whether the table fits with all of these cut as far as they may be.
bool can_fit(const std::vector<std::vector<Cell>>& rows, const std::vector<Shrinkable>& shrinkable,
             const Look& look);

/// A table. Where it is wider than the terminal those columns are cut first, in this order; when
/// that does not help each row becomes a paragraph.
std::string fitted_table(std::vector<std::vector<Cell>> rows,
                         const std::vector<Shrinkable>& shrinkable, const Look& look);

}  // namespace leat::cli

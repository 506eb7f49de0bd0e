// SPDX-License-Identifier: Apache-2.0
// Text for terminals: colours and aligned columns.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace leat::command {

enum class Paint { plain, bold, dim, red, green, yellow };

/// Whether people see the stream in colours: a terminal, and neither NO_COLOR nor TERM=dumb is set.
bool shows_colours(std::FILE* stream);

std::string painted(const std::string& text, Paint paint, bool colours);

struct Cell {
  std::string text;
  Paint paint = Paint::plain;
  bool right = false;  ///< aligned to the right
};

/// Lines of a table, indented by two; columns are as wide as their widest cell in characters.
std::string table(const std::vector<std::vector<Cell>>& rows, bool colours);

}  // namespace leat::command

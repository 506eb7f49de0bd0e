// SPDX-License-Identifier: Apache-2.0
#include "server/command/terminal.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace leat::command {
namespace {

const char* code(Paint paint) {
  switch (paint) {
    case Paint::plain:
      return "";
    case Paint::bold:
      return "\033[1m";
    case Paint::dim:
      return "\033[2m";
    case Paint::red:
      return "\033[31m";
    case Paint::green:
      return "\033[32m";
    case Paint::yellow:
      return "\033[33m";
  }
  return "";
}

// Characters of UTF-8, not bytes: units are written with degrees and powers.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::vector<std::size_t> column_widths(const std::vector<std::vector<Cell>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], width(row[i].text));
    }
  }
  return widths;
}

}  // namespace

bool shows_colours(std::FILE* stream) {
  const char* terminal = std::getenv("TERM");
  const char* refused = std::getenv("NO_COLOR");
  return isatty(fileno(stream)) && !(refused && *refused) && terminal &&
         std::string_view(terminal) != "dumb";
}

std::string painted(const std::string& text, Paint paint, bool colours) {
  if (!colours || paint == Paint::plain || text.empty()) return text;
  return code(paint) + text + "\033[0m";
}

std::string table(const std::vector<std::vector<Cell>>& rows, bool colours) {
  const std::vector<std::size_t> widths = column_widths(rows);
  std::string text;
  for (const auto& row : rows) {
    std::string line = " ";
    std::size_t pending = 1;  // blanks owed; none are left at the end of a line
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::size_t gap = widths[i] - width(row[i].text);
      if (row[i].right) pending += gap;
      if (!row[i].text.empty()) {
        line += std::string(pending, ' ') + painted(row[i].text, row[i].paint, colours);
        pending = 0;
      } else {
        pending += row[i].right ? 0 : gap;
      }
      if (!row[i].right && !row[i].text.empty()) pending = gap;
      pending += 2;
    }
    text += line + "\n";
  }
  return text;
}

}  // namespace leat::command

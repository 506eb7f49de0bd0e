// SPDX-License-Identifier: Apache-2.0
#include "server/cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace leat::cli {
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

std::size_t table_width(const std::vector<std::vector<Cell>>& rows) {
  std::size_t sum = 0;
  for (const std::size_t each : column_widths(rows)) sum += 2 + each;
  return sum;
}

std::string paragraph(const std::vector<Cell>& row, const Look& look) {
  const std::string indent = "\n     ";
  std::string text = "  " + row[0].text;
  std::size_t column = look.width;
  for (std::size_t i = 1; i < row.size(); ++i) {
    if (row[i].text.empty()) continue;
    const std::size_t needed = 1 + width(row[i].text);
    if (column + needed > look.width) {
      text += indent;
      column = indent.size() - 1;
    }
    text += (column == indent.size() - 1 ? "" : " ");
    text += " " + painted(row[i].text, row[i].paint, look.colours);
    column += 1 + needed;
  }
  return text + "\n";
}

// To `most` characters of UTF-8.
std::string cut(const std::string& text, std::size_t most) {
  if (width(text) <= most) return text;
  std::size_t end = 0;
  for (std::size_t characters = 0; end < text.size(); ++end) {
    if ((text[end] & 0xC0) != 0x80 && ++characters == most) break;
  }
  return text.substr(0, end) + "…";
}

bool shows_colours(bool is_terminal) {
  const char* terminal = std::getenv("TERM");
  const char* refused = std::getenv("NO_COLOR");
  return is_terminal && !(refused && *refused) && terminal && std::string_view(terminal) != "dumb";
}

}  // namespace

Look look_of(std::FILE* stream) {
  const bool is_terminal = isatty(fileno(stream));
  winsize size{};
  const bool has_size = is_terminal && ioctl(fileno(stream), TIOCGWINSZ, &size) == 0;
  return {shows_colours(is_terminal), has_size ? size.ws_col : std::size_t{0}};
}

std::string painted(const std::string& text, Paint paint, bool colours) {
  if (!colours || paint == Paint::plain || text.empty()) return text;
  return code(paint) + text + "\033[0m";
}

std::vector<Cell> header(const std::vector<std::string>& titles) {
  std::vector<Cell> row;
  for (const std::string& title : titles) row.push_back({title, Paint::dim});
  return row;
}

std::string table(const std::vector<std::vector<Cell>>& rows, const Look& look) {
  const std::vector<std::size_t> widths = column_widths(rows);
  std::string text;
  for (const auto& row : rows) {
    std::string line = " ";
    std::size_t pending = 1;  // blanks owed; none are left at the end of a line
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::size_t gap = widths[i] - width(row[i].text);
      if (row[i].right) pending += gap;
      if (!row[i].text.empty()) {
        line += std::string(pending, ' ') + painted(row[i].text, row[i].paint, look.colours);
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

std::string table_or_paragraphs(const std::vector<std::vector<Cell>>& rows, const Look& look) {
  if (look.width == 0 || table_width(rows) <= look.width) return table(rows, look);
  std::string text;
  for (std::size_t i = 1; i < rows.size(); ++i) text += paragraph(rows[i], look);
  return text;
}

bool can_fit(const std::vector<std::vector<Cell>>& rows, const std::vector<Shrinkable>& shrinkable,
             const Look& look) {
  if (look.width == 0) return true;
  const std::vector<std::size_t> widths = column_widths(rows);
  std::size_t total = table_width(rows);
  for (const Shrinkable& each : shrinkable)
    total -= widths[each.column] - std::min(widths[each.column], each.least);
  return total <= look.width;
}

std::string fitted_table(std::vector<std::vector<Cell>> rows,
                         const std::vector<Shrinkable>& shrinkable, const Look& look) {
  if (!can_fit(rows, shrinkable, look)) return table_or_paragraphs(rows, look);
  for (const Shrinkable& each : shrinkable) {
    const std::size_t total = table_width(rows);
    if (look.width == 0 || total <= look.width) break;
    const std::size_t now = column_widths(rows)[each.column], over = total - look.width;
    const std::size_t most = std::max(each.least, now - std::min(now, over));
    for (auto& row : rows) {
      if (each.column < row.size()) row[each.column].text = cut(row[each.column].text, most);
    }
  }
  return table(rows, look);
}

}  // namespace leat::cli

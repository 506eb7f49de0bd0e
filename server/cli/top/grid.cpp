// SPDX-License-Identifier: Apache-2.0
#include "server/cli/top/grid.hpp"

#include <algorithm>

namespace leat::cli::top {
namespace {

// Bytes of the character that begins with this one; 0: none does.
std::size_t length_of_character(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return 2;
  if (first >= 0xE0 && first < 0xF0) return 3;
  return first >= 0xF0 && first < 0xF5 ? 4 : 0;
}

bool is_whole(const std::string& text, std::size_t at, std::size_t length) {
  if (length == 0 || at + length > text.size()) return false;
  return std::all_of(text.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                     text.begin() + static_cast<std::ptrdiff_t>(at + length),
                     [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; });
}

}  // namespace

std::vector<std::string> characters_of(const std::string& text) {
  std::vector<std::string> characters;
  for (std::size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at]);
    const std::size_t length = length_of_character(first);
    const bool is_control = first < 0x20 || first == 0x7F;
    const bool is_one = !is_control && is_whole(text, at, length);
    characters.push_back(is_one ? text.substr(at, length) : "?");
    at += is_one ? length : 1;
  }
  return characters;
}

void Grid::need_rows(std::size_t count) {
  if (rows_.size() < count) rows_.resize(count, std::vector<GridCell>(width_));
}

void Grid::copy_row(std::size_t row, const Grid& from, std::size_t row_there) {
  need_rows(row + 1);
  if (row_there < from.height()) rows_[row] = from.rows_[row_there];
}

std::size_t Grid::put(std::size_t row, std::size_t column, const std::string& text, Paint paint) {
  need_rows(row + 1);
  for (std::string& each : characters_of(text)) {
    if (column < width_) rows_[row][column] = {std::move(each), paint};
    ++column;
  }
  return column;
}

void Grid::put_right(std::size_t row, std::size_t end, const std::string& text, Paint paint) {
  const std::size_t width = width_of(text);
  put(row, end > width ? end - width : 0, text, paint);
}

std::string Grid::text_of_row(std::size_t number, const Look& look) const {
  const std::vector<GridCell>& cells = rows_[number];
  const auto is_blank = [](const GridCell& cell) { return cell.text == " "; };
  const auto end = std::find_if_not(cells.rbegin(), cells.rend(), is_blank).base();
  std::string line;
  for (auto cell = cells.begin(); cell != end;) {
    const auto next =
        std::find_if(cell, end, [&](const GridCell& each) { return each.paint != cell->paint; });
    std::string part;
    for (auto each = cell; each != next; ++each) part += each->text;
    line += painted(part, cell->paint, look);
    cell = next;
  }
  return line;
}

std::string Grid::text(const Look& look) const {
  std::string all;
  for (std::size_t i = 0; i < rows_.size(); ++i) all += text_of_row(i, look) + "\n";
  return all;
}

}  // namespace leat::cli::top

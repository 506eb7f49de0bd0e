// SPDX-License-Identifier: Apache-2.0
#include "lib/base/table.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

namespace leat {
namespace {

constexpr std::size_t kIndent = 2, kGap = 2;
constexpr std::size_t kNarrowestWrapped = 30, kMostWrappedLines = 4;

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

// At spaces only: a path stays one word that can be copied, however long it is.
std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> lines{""};
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
    const std::string word = text.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    if (!lines.back().empty() && width_of(lines.back()) + 1 + width_of(word) > width) {
      if (lines.size() == kMostWrappedLines) {
        lines.back() += " ...";
        break;
      }
      lines.emplace_back();
    }
    lines.back() += (lines.back().empty() ? "" : " ") + word;
  }
  return lines;
}

std::string paragraph(const std::vector<Cell>& row, const Look& look) {
  constexpr std::size_t kIndentOfRest = 6;
  std::string text = std::string(kIndent, ' ') + row[0].text;
  std::size_t column = look.width;
  for (std::size_t i = 1; i < row.size(); ++i) {
    if (row[i].text.empty()) continue;
    const std::size_t needed = kGap + width_of(row[i].text);
    if (column + needed > look.width) {
      text += "\n" + std::string(kIndentOfRest - kGap, ' ');
      column = kIndentOfRest - kGap;
    }
    text += std::string(kGap, ' ') + painted(row[i].text, row[i].paint, look);
    column += needed;
  }
  return text;
}

}  // namespace

std::string painted(const std::string& text, Paint paint, const Look& look) {
  if (!look.colours || paint == Paint::plain || text.empty()) return text;
  return code(paint) + text + "\033[0m";
}

std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string cut(const std::string& text, std::size_t most) {
  if (width_of(text) <= most) return text;
  std::size_t end = 0;  // behind `most` - 3 whole characters
  for (std::size_t characters = 0; end < text.size(); ++end) {
    if ((text[end] & 0xC0) != 0x80 && characters++ == most - 3) break;
  }
  return text.substr(0, end) + "...";
}

void Table::add(std::vector<Cell> row) {
  row.resize(columns_.size());
  rows_.push_back(std::move(row));
}

Table::Rows Table::with_titles() const {
  Rows rows;
  const auto has_title = [](const Column& each) { return !each.title.empty(); };
  if (std::any_of(columns_.begin(), columns_.end(), has_title)) {
    rows.emplace_back();
    for (const Column& each : columns_) rows.back().push_back({each.title, Paint::dim});
  }
  rows.insert(rows.end(), rows_.begin(), rows_.end());
  return rows;
}

// One that wraps takes the room that there is.
std::vector<std::size_t> Table::widths_of(const Rows& rows) const {
  std::vector<std::size_t> widths(columns_.size());
  for (const std::vector<Cell>& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      if (!columns_[i].wraps) widths[i] = std::max(widths[i], width_of(row[i].text));
  }
  return widths;
}

// As long as there are columns that may go, no others are cut.
bool Table::may_be_cut(std::size_t column) const {
  const auto may_go = [](const Column& each) { return each.may_go; };
  return columns_[column].least > 0 &&
         (columns_[column].may_go || std::none_of(columns_.begin(), columns_.end(), may_go));
}

std::size_t Table::least_width(const std::vector<std::size_t>& widths) const {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < widths.size(); ++i)
    sum += kGap + (may_be_cut(i) ? std::min(columns_[i].least, widths[i]) : widths[i]);
  return sum;
}

bool Table::leave_out_one() {
  const auto last = std::find_if(columns_.rbegin(), columns_.rend(),
                                 [](const Column& each) { return each.may_go; });
  if (last == columns_.rend()) return false;
  const auto place = std::prev(last.base()) - columns_.begin();
  columns_.erase(columns_.begin() + place);
  for (std::vector<Cell>& row : rows_) row.erase(row.begin() + place);
  return true;
}

// The widest of those that may be cut, until all of it has room.
void Table::fit(Rows* rows, const Look& look) const {
  std::vector<std::size_t> widths = widths_of(*rows);
  for (;;) {
    const std::size_t all = std::accumulate(widths.begin(), widths.end(), kGap * widths.size());
    if (all <= look.width) return;
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (!may_be_cut(i) || widths[i] <= columns_[i].least) continue;
      if (widest == widths.size() || widths[i] > widths[widest]) widest = i;
    }
    if (widest == widths.size()) return;
    const std::size_t over = std::min(all - look.width, widths[widest]);
    widths[widest] = std::max(columns_[widest].least, widths[widest] - over);
    for (std::vector<Cell>& row : *rows) row[widest].text = cut(row[widest].text, widths[widest]);
  }
}

// No blanks are left at its end.
std::string Table::line(const std::vector<Cell>& row, const std::vector<std::size_t>& widths,
                        const Look& look) const {
  std::string text(kIndent, ' ');
  std::size_t column = kIndent, owed = 0;  // blanks
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (columns_[i].wraps) {
      const std::size_t at = column + owed;
      const std::size_t room = look.width == 0 ? SIZE_MAX : look.width - std::min(look.width, at);
      const auto lines = wrapped(row[i].text, std::max(kNarrowestWrapped, room));
      for (std::size_t n = 0; n < lines.size(); ++n)
        text += (n > 0 ? "\n" + std::string(at, ' ') : std::string(owed, ' ')) +
                painted(lines[n], row[i].paint, look);
      return text;
    }
    const std::size_t width = width_of(row[i].text), gap = widths[i] - width;
    if (columns_[i].right) owed += gap;
    if (width > 0) {
      text += std::string(owed, ' ') + painted(row[i].text, row[i].paint, look);
      column += owed + width;
      owed = 0;
    }
    owed += (columns_[i].right ? 0 : gap) + kGap;
  }
  return text;
}

std::vector<std::string> Table::rows(const Look& look) const {
  Table shown = *this;
  Rows rows = shown.with_titles();
  const auto is_too_wide = [&] {
    return look.width > 0 && shown.least_width(shown.widths_of(rows)) > look.width;
  };
  while (is_too_wide() && shown.leave_out_one()) rows = shown.with_titles();
  std::vector<std::string> lines;
  if (is_too_wide()) {
    for (const std::vector<Cell>& row : shown.rows_) lines.push_back(paragraph(row, look));
    return lines;
  }
  if (look.width > 0) shown.fit(&rows, look);
  const std::vector<std::size_t> widths = shown.widths_of(rows);
  for (const std::vector<Cell>& row : rows) lines.push_back(shown.line(row, widths, look));
  return lines;
}

std::string Table::text(const Look& look) const {
  std::string text;
  for (const std::string& row : rows(look)) text += row + "\n";
  return text;
}

}  // namespace leat

// SPDX-License-Identifier: Apache-2.0
#include "server/ledger/text_table.hpp"

#include <algorithm>

namespace leat::server {
namespace {

constexpr std::size_t kIndent = 2, kGap = 2;
constexpr std::size_t kNarrowest = 30;  // of the last column
constexpr std::size_t kMostWrapped = 4;

// Characters of UTF-8, not bytes: names and units have degrees, powers and umlauts.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::string spaces(width - std::min(width, width_of(text)), ' ');
  return right ? spaces + text : text + spaces;
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
      if (lines.size() == kMostWrapped) {
        lines.back() += " ...";
        break;
      }
      lines.emplace_back();
    }
    lines.back() += (lines.back().empty() ? "" : " ") + word;
  }
  return lines;
}

}  // namespace

std::string cut(const std::string& text, std::size_t most) {
  if (width_of(text) <= most) return text;
  std::size_t end = 0;  // behind `most` - 3 whole characters
  for (std::size_t characters = 0; end < text.size(); ++end) {
    if ((text[end] & 0xC0) != 0x80 && characters++ == most - 3) break;
  }
  return text.substr(0, end) + "...";
}

std::vector<std::string> TextTable::text(std::size_t width) const {
  std::array<std::size_t, kColumns - 1> widths{};
  for (const Line& line : lines_) {
    for (std::size_t c = 0; c < widths.size(); ++c)
      widths[c] = std::max(widths[c], width_of(line[c]));
  }
  std::size_t last_at = kIndent;
  for (const std::size_t column : widths) last_at += column + kGap;
  const std::size_t rest = std::max(kNarrowest, width - std::min(width, last_at));
  std::vector<std::string> all;
  for (const Line& line : lines_) {
    std::string text(kIndent, ' ');
    for (std::size_t c = 0; c < widths.size(); ++c) {
      text += padded(line[c], widths[c], c + 1 == widths.size()) + std::string(kGap, ' ');
    }
    const std::vector<std::string> parts = wrapped(line[kColumns - 1], rest);
    for (std::size_t i = 0; i < parts.size(); ++i)
      text += (i ? "\n" + std::string(last_at, ' ') : "") + parts[i];
    all.push_back(std::move(text));
  }
  return all;
}

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/hdf5/output/select_file.hpp"

#include <algorithm>
#include <vector>

namespace leat::hdf5 {
namespace {

std::string without_blanks(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\n");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

std::vector<std::string> split_at(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(without_blanks(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

std::optional<std::map<std::string, std::string>> select_file_from(const std::string& text) {
  std::map<std::string, std::string> index_of;
  for (const std::string& part : split_at(text, ';')) {
    const std::vector<std::string> sides = split_at(part, ':');
    if (sides.size() != 2 || sides[0].empty()) return std::nullopt;
    for (const std::string& variable : split_at(sides[1], ',')) {
      if (variable.empty() || !index_of.emplace(variable, sides[0]).second) return std::nullopt;
    }
  }
  return index_of;
}

}  // namespace leat::hdf5

// SPDX-License-Identifier: Apache-2.0
// What the screens of `leat ls` are made of.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/base/text.hpp"
#include "server/command/terminal.hpp"

namespace leat::command {

using Json = nlohmann::ordered_json;

inline std::vector<std::vector<Cell>> header_of(const std::vector<std::string>& titles) {
  std::vector<std::vector<Cell>> rows(1);
  for (const std::string& title : titles) rows[0].push_back({title, Paint::dim});
  return rows;
}

inline std::string section(const std::string& title, const Look& look) {
  return "\n" + painted(title, Paint::bold, look.colours) + "\n";
}

/// A line of what stands above the tables.
inline std::string line(const std::string& name, const std::string& value, const Look& look) {
  const std::string padded = name + std::string(name.size() < 12 ? 12 - name.size() : 1, ' ');
  return "  " + painted(padded, Paint::dim, look.colours) + value + "\n";
}

inline std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

/// "" when it is not there, or null.
inline std::string text_in(const Json& facts, const char* name) {
  const auto found = facts.find(name);
  return found != facts.end() && found->is_string() ? found->get<std::string>() : "";
}

inline Cell right(const std::string& text) { return {text, Paint::plain, true}; }

inline Cell bytes_cell(const Json& bytes) {
  return right(format_bytes(bytes.get<std::uint64_t>()));
}

}  // namespace leat::command

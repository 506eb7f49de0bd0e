// SPDX-License-Identifier: Apache-2.0
// `leat ls` of folders and sessions for people. What is shown is what the JSON has.
#pragma once

#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lib/base/text.hpp"
#include "server/cli/terminal.hpp"

namespace leat::cli {

// What the screens of `leat ls` are made of.

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

// `leat ls` for people. What is shown is what the JSON has.

using Json = nlohmann::ordered_json;

std::string file_screen(const Json& file, const Look& look);
std::string folder_screen(const Json& folder, const Look& look);
std::string session_screen(const Json& session, const Look& look);
/// What a session does now, without what it writes.
std::string status_screen(const Json& session, const Look& look);
std::string variables_screen(const Json& variables, const Look& look);

/// What a reader of the file has to know of its state, in a sentence; "" when that is nothing.
std::string advice_on(const Json& file);

}  // namespace leat::cli

// SPDX-License-Identifier: Apache-2.0
// What verbs show to people: drawn from the JSON that --json prints, as titles, facts, tables and notes.
#pragma once

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/base/table.hpp"

namespace leat::cli {

using Json = nlohmann::ordered_json;

/// Of a terminal, with colours unless NO_COLOR or TERM=dumb is set; no limit for files and pipes.
Look look_of(std::FILE* stream);

/// "2026-11-26T07:30:00+0100"; null when it is not known.
Json json_of_time(std::time_t when);
/// What --json prints.
std::string text_of(const Json& json);

/// "-" of what is null, empty or not there; lists with commas.
std::string shown(const Json& facts, const std::string& key);
/// "1.5 GiB"; "-" when it is no number.
std::string shown_bytes(const Json& facts, const std::string& key);
/// "" when it is not there, or null.
std::string text_in(const Json& facts, const std::string& key);
/// 0 when it is not there, or null.
std::uint64_t count_in(const Json& facts, const std::string& key);

// A column of a table, and what it shows of each row.
struct Field {
  Column column;
  std::function<Cell(const Json& row)> cell;
};
/// `key`: in each row; "" is the title. `least`: characters that it may be cut to.
Field text(const std::string& title, const std::string& key = "", std::size_t least = 0);
/// What is of least interest: dim, and empty where there is none.
Field dim(const std::string& title, const std::string& key = "", std::size_t least = 0);
Field number(const std::string& title, const std::string& key = "");
Field bytes(const std::string& title, const std::string& key = "");
/// Where more is to be said than what one key has.
Field made(Column column, std::function<Cell(const Json& row)> cell);

class Screen {
 public:
  explicit Screen(const Look& look) : look_(look) {}

  /// The first line; `note` stands behind it.
  void title(const std::string& text, const std::string& note = "");
  /// A blank line, and what a part is about.
  void section(const std::string& text);
  /// "  name        value". Values without a name go on with the one before.
  void fact(const std::string& name, const std::string& value, Paint paint = Paint::plain);
  /// The same of what is a text or a number.
  void fact_in(const Json& facts, const std::string& name, const std::string& key = "");
  void note(const std::string& text, Paint paint = Paint::dim);
  void line(const std::string& text) { text_ += text + "\n"; }
  /// Of no more than `most` rows. Nothing where there are none.
  void table(const Json& rows, const std::vector<Field>& fields, std::size_t most = SIZE_MAX);
  void table(const std::vector<Column>& columns, std::vector<std::vector<Cell>> rows);
  /// Any object: its facts, and a table of each list of objects.
  void any(const Json& facts);

  std::string paint(const std::string& text, Paint paint) const {
    return painted(text, paint, look_);
  }
  const std::string& text() const { return text_; }

 private:
  Look look_;
  std::string text_;
};

}  // namespace leat::cli

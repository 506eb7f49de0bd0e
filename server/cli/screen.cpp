// SPDX-License-Identifier: Apache-2.0
#include "server/cli/screen.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "lib/base/text.hpp"

namespace leat::cli {
namespace {

bool shows_colours(bool is_terminal) {
  const char* terminal = std::getenv("TERM");
  const char* refused = std::getenv("NO_COLOR");
  return is_terminal && !(refused && *refused) && terminal && std::string_view(terminal) != "dumb";
}

std::string text_of_value(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value ? "yes" : "no";
  if (!value.is_array()) return value.is_null() ? "" : value.dump();
  std::vector<std::string> items;
  for (const Json& each : value) items.push_back(text_of_value(each));
  return joined(items, ", ");
}

bool is_table(const Json& value) {
  return value.is_array() && !value.empty() && value.front().is_object();
}

// "value_in_xml" as a title.
std::string spaced(std::string key) {
  std::replace(key.begin(), key.end(), '_', ' ');
  return key;
}

}  // namespace

Look look_of(std::FILE* stream) {
  const bool is_terminal = isatty(fileno(stream));
  winsize size{};
  const bool has_size = is_terminal && ioctl(fileno(stream), TIOCGWINSZ, &size) == 0;
  return {shows_colours(is_terminal), has_size ? size.ws_col : std::size_t{0}};
}

Json json_of_time(std::time_t when) {
  std::tm local{};
  char text[64];
  const bool known = localtime_r(&when, &local) != nullptr &&
                     std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S%z", &local) > 0;
  return known ? Json(text) : Json();
}

std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string shown(const Json& facts, const std::string& key) {
  const std::string text = text_of_value(facts.value(key, Json()));
  return text.empty() ? "-" : text;
}

std::string shown_bytes(const Json& facts, const std::string& key) {
  const Json value = facts.value(key, Json());
  return value.is_number() ? format_bytes(value.get<std::uint64_t>()) : "-";
}

std::string text_in(const Json& facts, const std::string& key) {
  const Json value = facts.value(key, Json());
  return value.is_string() ? value.get<std::string>() : "";
}

std::uint64_t count_in(const Json& facts, const std::string& key) {
  const Json value = facts.value(key, Json());
  return value.is_number() ? value.get<std::uint64_t>() : 0;
}

Field text(const std::string& title, const std::string& key, std::size_t least) {
  return {{.title = title, .least = least},
          [key = key.empty() ? title : key](const Json& row) { return Cell{shown(row, key)}; }};
}

Field dim(const std::string& title, const std::string& key, std::size_t least) {
  return {{.title = title, .least = least}, [key = key.empty() ? title : key](const Json& row) {
            return Cell{text_in(row, key), Paint::dim};
          }};
}

Field number(const std::string& title, const std::string& key) {
  return {{.title = title, .right = true},
          [key = key.empty() ? title : key](const Json& row) { return Cell{shown(row, key)}; }};
}

Field bytes(const std::string& title, const std::string& key) {
  return {{.title = title, .right = true}, [key = key.empty() ? title : key](const Json& row) {
            return Cell{shown_bytes(row, key)};
          }};
}

Field made(Column column, std::function<Cell(const Json& row)> cell) {
  return {std::move(column), std::move(cell)};
}

void Screen::title(const std::string& text, const std::string& note) {
  text_ += paint(text, Paint::bold) + (note.empty() ? "" : "  " + paint(note, Paint::dim)) + "\n";
}

void Screen::section(const std::string& text) {
  text_ += (text_.empty() ? "" : "\n") + paint(text, Paint::bold) + "\n";
}

void Screen::fact(const std::string& name, const std::string& value, Paint paint) {
  constexpr std::size_t kNameWidth = 12;
  const std::size_t width = width_of(name);
  const std::string padded = name + std::string(width < kNameWidth ? kNameWidth - width : 1, ' ');
  text_ += "  " + this->paint(padded, Paint::dim) + this->paint(value, paint) + "\n";
}

void Screen::fact_in(const Json& facts, const std::string& name, const std::string& key) {
  const std::string value = shown(facts, key.empty() ? name : key);
  if (value != "-") fact(name, value);
}

void Screen::note(const std::string& text, Paint paint) {
  text_ += "  " + this->paint(text, paint) + "\n";
}

void Screen::table(const Json& rows, const std::vector<Field>& fields, std::size_t most) {
  if (rows.empty()) return;
  std::vector<Column> columns;
  for (const Field& each : fields) columns.push_back(each.column);
  std::vector<std::vector<Cell>> cells(std::min(rows.size(), most));
  for (std::size_t i = 0; i < cells.size(); ++i)
    for (const Field& each : fields) cells[i].push_back(each.cell(rows[i]));
  table(columns, std::move(cells));
  if (rows.size() > most)
    note("and " + std::to_string(rows.size() - most) + " more; --json has them all", Paint::plain);
}

void Screen::table(const std::vector<Column>& columns, std::vector<std::vector<Cell>> rows) {
  Table table(columns);
  for (std::vector<Cell>& row : rows) table.add(std::move(row));
  text_ += table.text(look_);
}

void Screen::any(const Json& facts) {
  for (const auto& [key, value] : facts.items())
    if (!is_table(value) && !value.is_object()) fact(spaced(key), shown(facts, key));
  for (const auto& [key, value] : facts.items()) {
    if (value.is_object()) {
      section(spaced(key));
      any(value);
    }
    if (!is_table(value)) continue;
    section(spaced(key));
    std::vector<Field> fields;
    for (const auto& [name, first] : value.front().items()) {
      fields.push_back(cli::text(spaced(name), name, first.is_string() ? 12 : 0));
      fields.back().column.right = first.is_number();
    }
    table(value, fields);
  }
}

}  // namespace leat::cli

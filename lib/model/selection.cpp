// SPDX-License-Identifier: Apache-2.0
#include "lib/model/selection.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "lib/model/expression_parser.hpp"

namespace leat::model {
namespace {

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// False where it is no number from 0. Nothing is the number that is there.
bool read_index(std::string_view text, std::int64_t* number, std::string* problem) {
  text = without_blanks(text);
  if (text.empty()) return true;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), *number);
  const bool is_integer = fault == std::errc{} && end == text.data() + text.size();
  if (is_integer && *number < 0)
    *problem = "\"" + std::string(text) + "\": indices count from 0; the last of nx is \"nx-1\"";
  return is_integer && *number >= 0 && *number <= std::int64_t{1} << 40;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end != std::string_view::npos) text.remove_prefix(end + 1);
  }
  return parts;
}

bool is_name_letter(char c, bool is_first) {
  return c == '_' || (is_first ? std::isalpha(static_cast<unsigned char>(c)) != 0
                               : std::isalnum(static_cast<unsigned char>(c)) != 0);
}

// Alone it is a place, which may have a unit.
bool is_name(std::string_view text) {
  text = without_blanks(text);
  return !text.empty() && is_name_letter(text[0], true) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_name_letter(c, false); });
}

// "nz/2". What is no expression may be a coordinate: "100 m", "1e-3 m".
bool read_expression(std::string_view text, const std::vector<Parameter>& parameters,
                     std::optional<Expression>* expression, std::string* problem) {
  const std::string whole(without_blanks(text));
  ParsedExpression parsed = parse_expression(whole, parameters);
  const auto is_parameter = [](const ExpressionOp& op) {
    return op.kind == ExpressionOp::parameter;
  };
  const char* const signs = is_name_letter(whole[0], true) ? "+-*/%()" : "*/%()";  // not of "1e-3"
  const bool is_meant = whole.find_first_of(signs) != std::string::npos || is_name(whole);
  if (!parsed.problem.empty() && is_meant) *problem = problem_text(parsed, whole);
  if (std::none_of(parsed.program.begin(), parsed.program.end(), is_parameter)) return false;
  *expression = {whole, std::move(parsed.program)};
  return true;
}

// Takes the word off the end, where it is.
bool take_last_word(std::string_view* text, std::string_view word) {
  if (!text->ends_with(word) || text->size() == word.size()) return false;
  const std::string_view before = text->substr(0, text->size() - word.size());
  if (before.back() != ' ') return false;
  *text = without_blanks(before);
  return true;
}

// "-1.5e3 m", "probe", "probe m", "100 m linear".
std::optional<PlaceText> read_place(std::string_view text) {
  PlaceText place;
  text = without_blanks(text);
  place.is_linear = take_last_word(&text, "linear");
  const char* const behind = text.data() + text.size();
  const auto [end, fault] = std::from_chars(text.data(), behind, place.number);
  std::size_t used = fault == std::errc{} ? static_cast<std::size_t>(end - text.data()) : 0;
  while (used < text.size() && fault != std::errc{} && is_name_letter(text[used], used == 0))
    place.parameter += text[used++];
  if (used == 0 || !std::isfinite(place.number)) return std::nullopt;
  place.unit = without_blanks(text.substr(used));
  const bool is_index = place.parameter.empty() && place.unit.empty();
  const bool is_torn = !place.unit.empty() && !place.parameter.empty() && text[used] != ' ';
  const bool is_between_indices = place.is_linear && place.unit.empty();
  const bool is_computed = place.unit.find_first_of("*/+-") == 0;
  return is_index || is_torn || is_between_indices || is_computed ? std::nullopt
                                                                  : std::optional(place);
}

// A place, or two coordinates.
bool read_places(std::string_view text, SelectedDimension* one) {
  const std::vector<std::string_view> parts = split(text, ':');
  if (parts.size() > 2) return false;
  for (const std::string_view part : parts) {
    std::optional<PlaceText> place = read_place(part);
    if (!place || (parts.size() == 2 && (!place->parameter.empty() || place->is_linear)))
      return false;
    one->places.push_back(std::move(*place));
  }
  one->what = Selected();
  one->what.is_one = parts.size() == 1;
  return true;
}

bool read_range(std::string_view text, const std::vector<Parameter>& parameters, Selected* what,
                std::string* problem) {
  const std::vector<std::string_view> parts = split(text, ':');
  if (parts.size() > 3 || without_blanks(text).empty()) return false;
  what->is_one = parts.size() == 1;
  std::int64_t end = 0;
  const bool has_end = parts.size() > 1 && !without_blanks(parts[1]).empty();
  const auto read = [&](std::string_view part, std::int64_t* number,
                        std::optional<Expression>* expression) {
    return read_index(part, number, problem) ||
           (!(what->is_one && is_name(part)) &&
            read_expression(part, parameters, expression, problem));
  };
  if (!read(parts[0], &what->first, &what->first_of) ||
      (has_end && !read(parts[1], &end, &what->end_of)) ||
      (parts.size() > 2 && !read_index(parts[2], &what->step, problem)) || what->step == 0)
    return false;
  if (has_end && !what->end_of) what->end = end;
  const bool is_empty = what->end && !what->first_of && end <= what->first;
  if (is_empty)
    *problem = "nothing lies in \"" + std::string(without_blanks(text)) +
               "\": it ends before the second number, as \"3:4\" is 3 alone";
  return !is_empty;
}

}  // namespace

Result<std::vector<SelectedDimension>> parse_selection(const std::string& text,
                                                       const std::vector<Parameter>& parameters) {
  std::vector<SelectedDimension> all;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    SelectedDimension one;
    if (equals != std::string_view::npos) one.name = without_blanks(part.substr(0, equals));
    const std::string_view what = part.substr(equals + 1);
    std::string problem;
    const bool is_good = !one.name.empty() && (read_range(what, parameters, &one.what, &problem) ||
                                               read_places(what, &one));
    if (!is_good && !problem.empty()) return Error{Status::ERROR_CONFIG, problem};
    if (!is_good)
      return Error{
          Status::ERROR_CONFIG,
          "\"" + std::string(without_blanks(part)) +
              "\" is no part of an array: write \"z=10\", \"z=2:8\" (2 to 7) or "
              "\"z=0:100:10\", the name of a dimension and indices from 0, of parameters too, as "
              "\"z=nz/2\"; \"z=100 m\" or "
              "\"z=100 m:200 m\", coordinates with their unit; \"z=100 m linear\", between two "
              "places; or \"z=probe\" or \"z=probe "
              "m\", with a parameter"};
    for (const SelectedDimension& each : all) {
      if (each.name == one.name)
        return Error{Status::ERROR_CONFIG, "the dimension \"" + one.name + "\" is there twice"};
    }
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace leat::model

// SPDX-License-Identifier: Apache-2.0
#include "lib/model/selection.hpp"

#include <charconv>
#include <string_view>

namespace leat::model {
namespace {

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// False where it is no number from 0. Nothing is the number that is there.
bool read_index(std::string_view text, std::int64_t* number) {
  text = without_blanks(text);
  if (text.empty()) return true;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return fault == std::errc{} && end == text.data() + text.size() && *number >= 0 &&
         *number <= std::int64_t{1} << 40;
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

bool read_range(std::string_view text, Selected* what) {
  const std::vector<std::string_view> parts = split(text, ':');
  if (parts.size() > 3 || without_blanks(text).empty()) return false;
  what->is_one = parts.size() == 1;
  std::int64_t end = 0;
  const bool has_end = parts.size() > 1 && !without_blanks(parts[1]).empty();
  if (!read_index(parts[0], &what->first) || (has_end && !read_index(parts[1], &end)) ||
      (parts.size() > 2 && !read_index(parts[2], &what->step)) || what->step == 0)
    return false;
  if (has_end) what->end = end;
  return !has_end || end > what->first;
}

}  // namespace

Result<std::vector<SelectedDimension>> parse_selection(const std::string& text) {
  std::vector<SelectedDimension> all;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    SelectedDimension one;
    if (equals != std::string_view::npos) one.name = without_blanks(part.substr(0, equals));
    if (one.name.empty() || !read_range(part.substr(equals + 1), &one.what))
      return Error{Status::ERROR_CONFIG, "\"" + std::string(without_blanks(part)) +
                                             "\" is no part of an array: write \"z=10\", \"z=2:8\" "
                                             "(2 to 7) or \"z=0:100:10\", the name of a "
                                             "dimension and indices from 0"};
    for (const SelectedDimension& each : all) {
      if (each.name == one.name)
        return Error{Status::ERROR_CONFIG, "the dimension \"" + one.name + "\" is there twice"};
    }
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace leat::model

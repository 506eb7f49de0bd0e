// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/analytics/options.hpp"

#include <cmath>
#include <cstdlib>
#include <sstream>
#include <stdexcept>

namespace leat::analytics {
namespace {

std::string text_of(const leat_run& run, const char* name) {
  return option(run.options, run.option_count, name);
}

std::string in_words(double number) {
  std::ostringstream text;
  text << number;
  return text.str();
}

[[noreturn]] void refuse(const char* name, const std::string& text, const std::string& wanted) {
  throw std::invalid_argument("option " + std::string(name) + "=\"" + text + "\": " + wanted +
                              " is wanted");
}

double number_of(const char* name, const std::string& whole, const std::string& text,
                 const std::string& wanted) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  while (*end == ' ') ++end;
  if (end == text.c_str() || *end != '\0' || !std::isfinite(number)) refuse(name, whole, wanted);
  return number;
}

}  // namespace

std::optional<double> number_option(const leat_run& run, const char* name, double least,
                                    double most) {
  const std::string text = text_of(run, name);
  if (text.empty()) return std::nullopt;
  const bool open = most > 1e300 && least < -1e300;
  const std::string wanted =
      open ? "a number"
           : "a number from " + in_words(least) + (most > 1e300 ? " on" : " to " + in_words(most));
  const double number = number_of(name, text, text, wanted);
  if (number < least || number > most) refuse(name, text, wanted);
  return number;
}

std::int64_t whole_option(const leat_run& run, const char* name, std::int64_t otherwise,
                          std::int64_t least, std::int64_t most) {
  const std::optional<double> number =
      number_option(run, name, static_cast<double>(least), static_cast<double>(most));
  if (number && *number != std::floor(*number)) refuse(name, text_of(run, name), "a whole number");
  return number ? static_cast<std::int64_t>(*number) : otherwise;
}

double needed_option(const leat_run& run, const char* name, double least, double most) {
  const std::optional<double> number = number_option(run, name, least, most);
  if (number) return *number;
  throw std::invalid_argument("option " + std::string(name) + " is needed: write <option name=\"" +
                              name + "\" value=\"...\"/> in <store name=\"" + run.store + "\">");
}

std::vector<double> list_option(const leat_run& run, const char* name) {
  const std::string text = text_of(run, name);
  std::vector<double> numbers;
  std::istringstream rest(text);
  for (std::string word; std::getline(rest, word, ',');)
    numbers.push_back(number_of(name, text, word, "numbers with commas between them"));
  return numbers;
}

}  // namespace leat::analytics

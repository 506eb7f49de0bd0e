// SPDX-License-Identifier: Apache-2.0
#include "server/cli/ctl_arguments.hpp"

#include <cstddef>
#include <sstream>

namespace leat::cli {

using control::Json;
using control::Verb;

namespace {

// Of a "number or text": numbers and quoted texts are JSON, all else is the text that it is.
Json value_of(const std::string& text, const Verb::Argument& argument) {
  const Json value = Json::parse(text, nullptr, false);
  const bool is_json = value.is_number() || value.is_string();
  return argument.form == "text" || !is_json ? Json(text) : value;
}

}  // namespace

std::optional<Json> arguments_of(const Verb& verb, const std::vector<std::string>& given) {
  Json arguments = Json::object();
  if (verb.words.starts_with('[')) {
    if (!given.empty()) arguments[verb.arguments.front().name] = given;
    return arguments;
  }
  std::istringstream words(verb.words);
  std::size_t next = 0, number = 0;
  for (std::string word; words >> word; ++number) {
    if (number == given.size()) return {};
    std::string text = given[number];
    if (word.find('=') != std::string::npos) {
      const std::size_t sign = text.find('=');
      if (sign == 0 || sign == std::string::npos) return {};
      arguments[verb.arguments[next++].name] = text.substr(0, sign);
      text.erase(0, sign + 1);
    }
    arguments[verb.arguments[next].name] = value_of(text, verb.arguments[next]);
    ++next;
  }
  if (number != given.size()) return {};
  return arguments;
}

bool is_outcome(const Json& event, const Verb& verb, const Json& arguments, const Json& reply) {
  if (event.value("event", "") != verb.awaited) return false;
  const Json who = reply.value("/result/who"_json_pointer, Json());
  if (event.contains("rank") || event.value("who", who) != who) return false;
  if (verb.arguments.empty()) return true;
  const std::string& about = verb.arguments.front().name;
  return event.value(about, Json()) == arguments.value(about, Json());
}

}  // namespace leat::cli

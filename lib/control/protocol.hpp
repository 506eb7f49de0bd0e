// SPDX-License-Identifier: Apache-2.0
// What is said over a control channel: a line of JSON for each message. docs/reference/leat-ctl.md describes them all.
// Known to leatd and to the command `leat`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace leat::control {

using Json = nlohmann::ordered_json;

/// Of all messages, in both directions.
inline constexpr int kVersion = 1;
/// Bytes of a request, without the end of its line.
inline constexpr std::size_t kMostRequest = std::size_t{64} * 1024;

/// A line of verbs.def.
struct Verb {
  enum class Kind { fact, order, request, stream };

  std::string name;
  Kind kind;
  std::vector<std::string> needed, optional;  ///< its arguments
  std::string words;                          ///< that follow it on the command line
  std::string example;                        ///< a whole request
  std::string about;
};
/// In the order of the alphabet.
const std::vector<Verb>& verbs();
/// nullptr: there is none of this name.
const Verb* find_verb(const std::string& name);
std::vector<std::string> names_of_verbs();

/// Of the events to which one can subscribe.
const std::vector<std::string>& names_of_events();

struct Request {
  std::string verb{};               ///< "": not known
  Json id{};                        ///< comes back with the reply; null: it has none
  Json arguments = Json::object();  ///< all that its verb needs, and nothing that it does not know
  std::string error{};              ///< "" or why it is refused, and what to write instead
};
/// Of one line, without its end. Any bytes do.
Request parse_request(std::string_view line);

/// Lines, with their ends.
std::string request_line(const std::string& verb, const Json& arguments);
std::string reply_line(const Request& request, const Json& result);
/// `result`: JSON.
std::string reply_line_of_text(const Request& request, std::string result);
std::string refusal_line(const Request& request, const std::string& error);
/// `facts` are added to it.
std::string event_line(const std::string& event, const Json& facts);

}  // namespace leat::control

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

/// A row of verbs.def.
struct Verb {
  enum class Kind { fact, constant, of_run, order, request, stream };
  struct Argument {
    std::string name;
    std::string form;  ///< "text", "number or text", "list", or what it may be: "run|node"
    bool optional;
  };

  std::string name;
  Kind kind;
  std::vector<Argument> arguments;
  std::string words;    ///< for the arguments, on the command line
  std::string awaited;  ///< the event that says what has come of it
  std::string example;  ///< a whole request
  std::string about;

  bool takes(const std::string& argument) const;
};
/// In the order of the alphabet.
const std::vector<Verb>& verbs();
/// nullptr: there is none of this name.
const Verb* find_verb(const std::string& name);
std::vector<std::string> names_of_verbs();

/// Of the events to which one can subscribe.
const std::vector<std::string>& names_of_events();

struct Request {
  std::string verb{};  ///< "": not known
  Json id{};           ///< comes back with the reply; null: it has none
  Json arguments =
      Json::object();   ///< all that its verb needs, in the forms it takes, and no others
  std::string who{};    ///< asks, for logs; said by the channel
  std::string error{};  ///< "" or why it is refused, and what to write instead
};
/// Of one line, without its end. Any bytes do.
Request parse_request(std::string_view line);

/// Lines, with their ends.
std::string request_line(const std::string& verb, const Json& arguments);
/// `result`: a text of JSON.
std::string reply_line(const Request& request, std::string result);
std::string refusal_line(const Request& request, const std::string& error);
/// `facts` are added to it.
std::string event_line(const std::string& event, const Json& facts);

}  // namespace leat::control

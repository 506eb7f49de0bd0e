// SPDX-License-Identifier: Apache-2.0
#include "lib/control/protocol.hpp"

#include <algorithm>
#include <cstdint>
#include <ctime>

#include "lib/base/text.hpp"

namespace leat::control {
namespace {

// A request has no need of more; deeper values cost time and are nobody's.
constexpr int kMostDepth = 4;
constexpr const char* kVersionKey = "leat_control";
constexpr const char* kShortest = R"({"leat_control": 1, "request": "status"})";

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Of what nlohmann says what helps who wrote it.
std::string why_no_json(const Json::exception& error) {
  const std::string text = error.what();
  const std::size_t at = text.find("] ");
  return at == std::string::npos ? text : text.substr(at + 2);
}

Json parse(std::string_view line, std::string* error) {
  const auto is_flat = [](int depth, Json::parse_event_t, Json&) { return depth <= kMostDepth; };
  try {
    Json json = Json::parse(line, is_flat);
    if (json.is_object()) return json;
    *error = "a request is an object";
  } catch (const Json::exception& e) {
    *error = "this is no JSON (" + why_no_json(e) + "); a request is one line";
  }
  *error += std::string(", like ") + kShortest;
  return {};
}

std::string why_not_version(const Json& message) {
  const auto version = message.find(kVersionKey);
  if (version == message.end())
    return std::string("a request names its version, like ") + kShortest;
  if (*version == kVersion) return "";
  return "this request is of version " +
         version->dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 64) +
         ", and this server speaks version " + std::to_string(kVersion) + ": write \"" +
         kVersionKey + "\": " + std::to_string(kVersion) +
         ", or use the `leat` and the Python package of the release of leatd";
}

// "" or what an argument of this form is.
std::string why_not_form(std::string form, const Json& value) {
  const bool is_text = value.is_string();
  if (form == "list") return value.is_array() ? "" : "a list";
  if (form == "text") return is_text ? "" : "a text";
  if (form == "number or text") return is_text || value.is_number() ? "" : "a number or a text";
  const std::string given = is_text ? value.get<std::string>() : "";
  const bool is_one = given.find('|') == std::string::npos;
  if (is_one && ("|" + form + "|").find("|" + given + "|") != std::string::npos) return "";
  for (std::size_t at = 0; (at = form.find('|', at)) != std::string::npos;)
    form.replace(at, 1, "\" or \"");
  return "\"" + form + "\"";
}

std::string why_not_arguments(const Verb& verb, const Json& arguments) {
  std::vector<std::string> known;
  for (const Verb::Argument& each : verb.arguments) known.push_back(each.name);
  for (const auto& [name, value] : arguments.items()) {
    if (!verb.takes(name))
      return quoted(verb.name) + " has no argument " + quoted(name) + did_you_mean(name, known) +
             "; write " + verb.example;
  }
  for (const auto& [name, form, optional] : verb.arguments) {
    const auto given = arguments.find(name);
    if (given == arguments.end() && optional) continue;
    if (given == arguments.end())
      return quoted(verb.name) + " needs " + quoted(name) + ": write " + verb.example;
    if (const std::string why = why_not_form(form, *given); !why.empty())
      return quoted(name) + " is " + why + ": write " + verb.example;
  }
  return "";
}

std::string why_not_verb(const Json& message) {
  const auto verb = message.find("request");
  if (verb == message.end())
    return std::string("it does not say what is asked for; write ") + kShortest;
  const std::string name = verb->is_string() ? verb->get<std::string>() : "";
  if (find_verb(name)) return "";
  return "there is no request " + quoted(name.substr(0, 64)) +
         did_you_mean(name.substr(0, 64), names_of_verbs());
}

Json head_of_reply(const Request& request, bool ok) {
  return {{kVersionKey, kVersion},
          {"id", request.id},
          {"reply", request.verb.empty() ? Json(nullptr) : Json(request.verb)},
          {"ok", ok}};
}

}  // namespace

namespace {

// "parameter: text, scope?: run|node"
std::vector<Verb::Argument> arguments_in(const std::string& text) {
  std::vector<Verb::Argument> arguments;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t colon = text.find(": ", at), end = std::min(text.find(", ", at), text.size());
    const bool optional = text[colon - 1] == '?';
    arguments.push_back({text.substr(at, colon - at - (optional ? 1 : 0)),
                         text.substr(colon + 2, end - colon - 2), optional});
    at = end + 2;
  }
  return arguments;
}

Verb verb_of(std::string name, Verb::Kind kind, const char* arguments, const char* words,
             const char* awaited, const std::string& example, const char* about) {
  std::replace(name.begin(), name.end(), '_', '-');
  const std::string request = R"({"leat_control": 1, "request": ")" + name + "\"" +
                              (example.empty() ? "" : ", ") + example + "}";
  return {std::move(name), kind, arguments_in(arguments), words, awaited, request, about};
}

}  // namespace

bool Verb::takes(const std::string& argument) const {
  return std::any_of(arguments.begin(), arguments.end(),
                     [&](const Argument& each) { return each.name == argument; });
}

const std::vector<Verb>& verbs() {
#define LEAT_CONTROL_VERB(name, kind, arguments, words, awaited, example, about, details) \
  verb_of(#name, Verb::Kind::kind, arguments, words, awaited, example, about),
  static const std::vector<Verb> all{
#include "lib/control/verbs.def"
  };
  return all;
}

const Verb* find_verb(const std::string& name) {
  const auto found = std::find_if(verbs().begin(), verbs().end(),
                                  [&](const Verb& verb) { return verb.name == name; });
  return found == verbs().end() ? nullptr : &*found;
}

std::vector<std::string> names_of_verbs() {
  std::vector<std::string> names;
  for (const Verb& verb : verbs()) names.push_back(verb.name);
  return names;
}

const std::vector<std::string>& names_of_events() {
  static const std::vector<std::string> names{"open",    "complete", "stored",    "failed",
                                              "dropped", "steered",  "signalled", "closing"};
  return names;
}

Request parse_request(std::string_view line) {
  Request request;
  const Json message = parse(line, &request.error);
  if (!request.error.empty()) return request;
  if (const auto id = message.find("id"); id != message.end() && id->is_primitive())
    request.id = *id;
  request.error = why_not_version(message);
  if (request.error.empty()) request.error = why_not_verb(message);
  if (!request.error.empty()) return request;
  request.verb = message["request"].get<std::string>();
  for (const auto& [name, value] : message.items()) {
    if (name != kVersionKey && name != "id" && name != "request") request.arguments[name] = value;
  }
  request.error = why_not_arguments(*find_verb(request.verb), request.arguments);
  return request;
}

std::string request_line(const std::string& verb, const Json& arguments) {
  Json message{{kVersionKey, kVersion}, {"request", verb}};
  if (arguments.is_object()) message.update(arguments);
  return line_of(message);
}

// An end of a line is nowhere in a text of JSON, but between its parts.
std::string reply_line(const Request& request, std::string result) {
  std::replace(result.begin(), result.end(), '\n', ' ');
  std::string line = line_of(head_of_reply(request, true));
  line.resize(line.size() - 2);
  return line + ",\"result\":" + (result.empty() ? "null" : result) + "}\n";
}

std::string refusal_line(const Request& request, const std::string& error) {
  Json message = head_of_reply(request, false);
  message["error"] = error;
  return line_of(message);
}

std::string event_line(const std::string& event, const Json& facts) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const std::int64_t microseconds = std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
  Json message{
      {kVersionKey, kVersion}, {"event", event}, {"time", static_cast<double>(microseconds) / 1e6}};
  if (facts.is_object()) message.update(facts);
  return line_of(message);
}

}  // namespace leat::control

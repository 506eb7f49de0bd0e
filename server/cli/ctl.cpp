// SPDX-License-Identifier: Apache-2.0
#include "server/cli/ctl.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lib/base/text.hpp"
#include "lib/node/placement.hpp"
#include "lib/node/runtime_folder.hpp"
#include "server/cli/control_client.hpp"
#include "server/cli/ctl_screen.hpp"
#include "server/cli/programs.hpp"

namespace leat::cli {
namespace {

// Beside those of all verbs.
constexpr int kNoSession = 3, kNoAnswer = 4;

struct CtlOptions {
  std::string session, verb, scope = "run";
  std::vector<std::string> arguments;
  bool json = false;
  double timeout = 10, wait = 2;
  bool must_wait = false;
};

using control::Verb;

platform::Deadline in_seconds(double seconds) {
  return platform::Deadline::in_ns(static_cast<std::int64_t>(seconds * 1e9));
}

// Numbers and quoted texts are JSON; all else is the text that it is.
Json value_of(const std::string& text) {
  Json value = Json::parse(text, nullptr, false);
  return value.is_number() || value.is_string() ? value : Json(text);
}

// "", or what is wrong with the command line.
std::string read_arguments(const CtlOptions& options, Json* arguments) {
  const control::Verb* const verb = control::find_verb(options.verb);
  if (!verb)
    return "there is no verb \"" + options.verb + "\"" +
           did_you_mean(options.verb, control::names_of_verbs());
  const std::string write =
      "write `leat ctl " + options.session + " " + verb->name + " " + verb->words + "`";
  *arguments = Json::object();
  if (options.verb == "set") {
    const std::size_t sign = options.arguments.size() == 1 ? options.arguments[0].find('=') : 0;
    if (sign == 0 || sign == std::string::npos) return write;
    *arguments = {{"parameter", options.arguments[0].substr(0, sign)},
                  {"value", value_of(options.arguments[0].substr(sign + 1))},
                  {"scope", options.scope}};
  } else if (options.verb == "signal") {
    if (options.arguments.size() != 1) return write;
    *arguments = {{"signal", options.arguments[0]}};
  } else if (options.verb == "subscribe") {
    if (!options.arguments.empty()) *arguments = {{"events", options.arguments}};
  } else if (!options.arguments.empty()) {
    return options.verb + " has no arguments: \"" + options.arguments[0] + "\" is too much";
  }
  return "";
}

bool is(const CtlOptions& options, Verb::Kind kind) {
  return control::find_verb(options.verb)->kind == kind;
}

// An order, or a request: its answer is a line.
bool is_short(const CtlOptions& options) {
  return is(options, Verb::Kind::order) || is(options, Verb::Kind::request);
}

// One server. What it says is kept until say(), but for events that are followed.
class Ctl {
 public:
  Ctl(const CtlOptions& options, ControlClient client)
      : options_(options), client_(std::move(client)) {}

  /// Sessions of all servers that are meant, when the name is that of a run: those of its node.
  std::vector<std::string> servers() {
    const bool is_the_same_of_all = is(options_, Verb::Kind::stream) || options_.verb == "describe";
    const Json status = is_the_same_of_all ? Json() : result_of("status");
    std::vector<std::string> names{options_.session};
    if (!status.is_object() || status.value("server", -1) != 0 || happens_on_all()) return names;
    for (int i = 1; i < status.value("servers", 1); ++i)
      names.push_back(platform::session_of_server(options_.session, i));
    return names;
  }

  int run(const Json& arguments) {
    const bool is_order = is(options_, Verb::Kind::order);
    const Json awaited = {{"events", {options_.verb == "signal" ? "signalled" : "steered"}}};
    if (is_order && options_.wait > 0 && !ask("subscribe", awaited)) return code_;
    const std::optional<Json> reply = ask(options_.verb, arguments);
    if (!reply) return code_;
    if (is(options_, Verb::Kind::stream)) return follow();
    if (is_short(options_)) return accepted(*reply, arguments);
    print(options_.json ? reply->dump(2, ' ', false, Json::error_handler_t::replace) + "\n"
                        : screen_of_reply(options_.verb, (*reply)["result"], look_of(stdout)));
    return kGood;
  }

  /// Each line of an order behind `title`.
  void say(const std::string& title) {
    if (!said_.empty()) std::fputs((title + said_).c_str(), stdout);
    std::fflush(stdout);
    if (!complaint_.empty())
      std::fprintf(stderr, "leat ctl: %s%s\n", title.c_str(), complaint_.c_str());
    said_.clear();
    complaint_.clear();
  }
  /// What it would say as JSON.
  Json as_json(const std::string& session) const {
    Json all = Json::parse(said_, nullptr, false);
    if (!all.is_object()) all = {{"ok", false}, {"error", complaint_}};
    all["session"] = session;
    return all;
  }

 private:
  Json result_of(const std::string& verb) {
    const Result<Json> reply = client_.ask(verb, Json::object(), in_seconds(options_.timeout));
    return reply && reply->contains("result") ? (*reply)["result"] : Json();
  }

  // An event of the whole run.
  bool happens_on_all() {
    if (options_.verb != "signal" || options_.arguments.size() != 1) return false;
    const Json described = result_of("describe");
    if (!described.is_object()) return false;  // the server has just ended
    const Json events = described.value("events", Json::array());
    return std::any_of(events.begin(), events.end(), [this](const Json& each) {
      return each.value("name", "") == options_.arguments[0] && each.value("scope", "") == "run";
    });
  }

  // Empty: it is said why not.
  std::optional<Json> ask(const std::string& verb, const Json& arguments) {
    const Result<Json> reply = client_.ask(verb, arguments, in_seconds(options_.timeout));
    if (reply && reply->value("ok", false)) return *reply;
    code_ = reply ? kBad : kNoAnswer;
    if (reply && options_.json) print(reply->dump(2) + "\n");
    complain(reply ? reply->value("error", "") : reply.error().message);
    return {};
  }

  int follow() {
    for (;;) {
      const Result<Json> event =
          client_.receive(in_seconds(std::numeric_limits<std::int32_t>::max()));
      if (!event) {
        complain(event.error().message + ": another one may go on, subscribe again");
        return kNoAnswer;
      }
      print(text_of(*event));
      say("");
      if (event->value("event", "") == "ended") return kGood;
      if (event->value("event", "") == "overrun") return kNoAnswer;
    }
  }

  std::string text_of(const Json& event) const {
    return options_.json ? event.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"
                         : line_of_event(event, look_of(stdout));
  }

  int accepted(const Json& reply, const Json& arguments) {
    if (is(options_, Verb::Kind::request) || options_.wait <= 0) return done(reply, Json());
    const platform::Deadline deadline = in_seconds(options_.wait);
    for (;;) {
      const Result<Json> event = client_.receive(deadline);
      if (!event && ends_the_run() && event.error().status == Status::ERROR_SERVER)
        return done(reply, {{"event", "ended"}});  // it could not say so any more
      if (!event) return done(reply, Json());
      if (is_awaited(*event, reply, arguments)) return done(reply, *event);
    }
  }

  bool ends_the_run() const { return options_.verb == "drain" || options_.verb == "stop"; }

  bool is_awaited(const Json& event, const Json& reply, const Json& arguments) const {
    const std::string name = event.value("event", "");
    if (ends_the_run()) return name == "ended";
    if (options_.verb == "signal")
      return name == "signalled" && event.value("signal", "") == arguments["signal"] &&
             !event.contains("rank");
    return name == "steered" && event.value("parameter", "") == arguments["parameter"] &&
           event.value("who", "") == reply.value("/result/who"_json_pointer, "");
  }

  // `event`: what has come of it; null when that is not known yet.
  int done(Json reply, const Json& event) {
    const bool late = event.is_null() && options_.must_wait;
    if (options_.json) {
      if (event.is_object()) reply["event"] = event;
      print(reply.dump(2) + "\n");
    } else {
      print(event.is_object() ? text_of(event) : "accepted\n");
    }
    if (late) complain("it is not known in time what has come of it");
    return late ? kNoAnswer : kGood;
  }

  void print(const std::string& text) { said_ += text; }
  void complain(const std::string& message) { complaint_ = message; }

  const CtlOptions& options_;
  ControlClient client_;
  std::string said_, complaint_;
  int code_ = kGood;
};

// With the answer of each, at once: what one does may wait for the others.
int run_on_all(const CtlOptions& options, const Json& arguments,
               const std::vector<std::string>& names) {
  struct One {
    std::optional<Ctl> server;
    int code = kNoSession;
  };
  std::vector<One> all(names.size());
  std::vector<std::thread> at_work;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Result<ControlClient> client = ControlClient::connect(names[i], in_seconds(options.timeout));
    if (!client) continue;
    One& one = all[i];
    one.server.emplace(options, std::move(*client));
    at_work.emplace_back([&one, &arguments] { one.code = one.server->run(arguments); });
  }
  for (std::thread& each : at_work) each.join();
  Json answers = Json::array();
  int code = kGood;
  for (std::size_t i = 0; i < names.size(); ++i) {
    code = std::max(code, all[i].code);
    if (!all[i].server)
      std::fprintf(stderr, "leat ctl: no server of session \"%s\" listens any more\n",
                   names[i].c_str());
    if (options.json)
      answers.push_back(all[i].server ? all[i].server->as_json(names[i])
                                      : Json{{"ok", false}, {"session", names[i]}});
    else if (all[i].server)
      all[i].server->say(is_short(options) ? names[i] + ": " : names[i] + "\n");
  }
  if (options.json)
    std::printf("%s\n", answers.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
  return code;
}

// For --help: a line for each verb.
std::string all_verbs() {
  constexpr std::size_t kColumn = 28;
  std::string text;
  for (const Verb& each : control::verbs()) {
    std::string line = "  " + each.name + " " + each.words;
    line.resize(std::max(line.size(), kColumn), ' ');
    text += line + each.about + "\n";
  }
  return text;
}

int run_ctl(CtlOptions options) {
  Json arguments;
  if (const std::string wrong = read_arguments(options, &arguments); !wrong.empty()) {
    std::fprintf(stderr, "leat ctl: %s\n", wrong.c_str());
    return kUsage;
  }
  const platform::Deadline deadline = in_seconds(options.timeout);
  Result<ControlClient> client = ControlClient::connect(options.session, deadline);
  if (!client && client.error().status == Status::ERROR_SERVER) {
    const std::vector<std::string> named = sessions_of_simulation(options.session, deadline);
    if (named.size() > 1) {
      std::string all;
      for (const std::string& each : named) all += " " + each;
      std::fprintf(stderr,
                   "leat ctl: several sessions on this node are runs of \"%s\"; name one of:%s\n",
                   options.session.c_str(), all.c_str());
      return kUsage;
    }
    if (named.size() == 1) {
      options.session = named.front();
      client = ControlClient::connect(options.session, deadline);
    }
  }
  if (client) {
    Ctl first(options, std::move(*client));
    const std::vector<std::string> names = first.servers();
    if (names.size() > 1) return run_on_all(options, arguments, names);
    const int code = first.run(arguments);
    first.say("");
    return code;
  }
  const bool is_busy = client.error().status == Status::ERROR_TIMEOUT;
  std::fprintf(stderr, "leat ctl: no server of a session \"%s\" %s on this node%s\n",
               options.session.c_str(), is_busy ? "answers" : "listens",
               is_busy ? "" : did_you_mean(options.session, names_of_sessions()).c_str());
  return is_busy ? kNoAnswer : kNoSession;
}

}  // namespace

void add_ctl(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<CtlOptions>();
  CLI::App* verb = app.add_subcommand(
      "ctl", "Asks the server of a running session of yours, or orders it to do something.");
  verb->add_option(
          "SESSION", options->session,
          "Its name, as `leat ls` shows it; that of a run means all of its servers on the node")
      ->required();
  verb->add_option("VERB", options->verb, "One of those below")->required();
  verb->add_option("ARGUMENT", options->arguments, "What the verb needs");
  verb->add_flag("--json", options->json, "What the server says, as JSON");
  verb->add_option(
          "--scope", options->scope,
          "Of `set` in a run with several servers: \"node\" gives the value to the ranks of "
          "each server by itself, from an iteration of its own on; \"run\" is refused there")
      ->capture_default_str()
      ->check(CLI::IsMember({"run", "node"}));
  verb->add_option("--timeout", options->timeout, "Seconds that it has to answer")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  const CLI::Option* const wait =
      verb->add_option("--wait", options->wait,
                       "Seconds to wait for what comes of an order: the iteration from which a "
                       "value holds, or in which an event happens, the end of the server")
          ->capture_default_str()
          ->check(CLI::NonNegativeNumber);
  verb->footer(
      "Verbs:\n" + all_verbs() +
      "\nExit codes: 0 done; 1 the server has refused it; 2 the command line is wrong; 3 no such "
      "session runs on this node; 4 the server does not answer in time, or has gone.");
  verb->callback([options, wait, &exit_code] {
    options->must_wait = wait->count() > 0 && options->wait > 0;
    exit_code = run_ctl(*options);
  });
}

}  // namespace leat::cli

// SPDX-License-Identifier: Apache-2.0
// `leat ctl`: asks the server of a running session, or orders it to do something.

#include <algorithm>
#include <chrono>
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
#include "server/cli/ctl_arguments.hpp"
#include "server/cli/ctl_screen.hpp"
#include "server/cli/verbs.hpp"

namespace leat::cli {
namespace {

// Beside those of all verbs.
constexpr int kNoSession = 3, kNoAnswer = 4;
// Servers of other nodes learn after a moment that they are asked.
constexpr double kLeastWaitForAll = 5;

using control::Verb;

struct CtlOptions {
  std::string session, name, scope = "run";
  const Verb* verb = nullptr;  // of that name
  std::vector<std::string> arguments;
  bool json = false;
  double timeout = 10, wait = 2;
  bool must_wait = false;
};

os::Deadline in_seconds(double seconds) {
  return os::Deadline::in_ns(static_cast<std::int64_t>(seconds * 1e9));
}

// An order, or a request: its answer is a line.
bool is_short(const Verb& verb) {
  return verb.kind == Verb::Kind::order || verb.kind == Verb::Kind::request;
}

// One server. What it says is kept until say(), but for events that are followed.
class Ctl {
 public:
  Ctl(const CtlOptions& options, ControlClient client)
      : options_(options), client_(std::move(client)) {}

  /// Sessions of all servers that are meant, when the name is that of a run: those of its node.
  std::vector<std::string> servers() {
    const Verb::Kind kind = options_.verb->kind;
    const bool is_the_same_of_all =
        kind == Verb::Kind::stream || kind == Verb::Kind::constant || kind == Verb::Kind::of_run;
    const Json status = is_the_same_of_all ? Json() : result_of("status");
    std::vector<std::string> names{options_.session};
    if (!status.is_object() || status.value("server", -1) != 0 || happens_on_all()) return names;
    for (int i = 1; i < status.value("servers", 1); ++i)
      names.push_back(node::session_of_server(options_.session, i));
    return names;
  }

  int run(const Json& arguments) {
    const Verb& verb = *options_.verb;
    const bool is_order = verb.kind == Verb::Kind::order;
    // "ended" is told to all, and is no event that one can ask for.
    const std::string event = ends_the_run() ? "closing" : verb.awaited;
    if (is_order && options_.wait > 0 && !ask("subscribe", {{"events", {event}}})) return code_;
    std::optional<Json> reply = ask(verb.name, arguments);
    if (reply && verb.kind == Verb::Kind::of_run) reply = await_news(*reply);
    if (!reply) return code_;
    if (verb.kind == Verb::Kind::stream) return follow();
    if (is_short(verb)) return accepted(*reply, arguments);
    said_ = options_.json ? cli::text_of(*reply)
                          : screen_of_reply(verb.name, (*reply)["result"], look_of(stdout));
    return kGood;
  }

  /// Each line of an order behind `title`.
  void say(const std::string& title) {
    if (!said_.empty()) print(title + said_);
    if (!complaint_.empty()) refuse("ctl", title + complaint_);
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

  // An event of the whole run, or a value that all of its ranks get.
  bool happens_on_all() {
    if (options_.verb->awaited == "steered") return options_.scope == "run";
    if (options_.verb->awaited != "signalled") return false;
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
    if (reply && options_.json) said_ = cli::text_of(*reply);
    complain(reply ? reply->value("error", "") : reply.error().message);
    return {};
  }

  // What other servers say comes a moment after they are asked, or not, when they are stopped.
  std::optional<Json> await_news(Json reply) {
    const auto age = [](const Json& of) {
      const Json known = of.value("/result/age_seconds"_json_pointer, Json());
      return known.is_number() ? known.get<double>() : std::numeric_limits<double>::infinity();
    };
    const auto asked = std::chrono::steady_clock::now();
    const auto since = [&asked] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - asked).count();
    };
    const double limit = options_.wait > 0 ? std::max(options_.wait, kLeastWaitForAll) : 0;
    while (age(reply) > since() && since() < limit) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      std::optional<Json> next = ask(options_.verb->name, Json::object());
      if (!next) return next;
      reply = std::move(*next);
    }
    return reply;
  }

  int follow() {
    for (;;) {
      const Result<Json> event =
          client_.receive(in_seconds(std::numeric_limits<std::int32_t>::max()));
      if (!event) {
        complain(event.error().message + ": another one may go on, subscribe again");
        return kNoAnswer;
      }
      said_ = line_of(*event);
      say("");
      if (event->value("event", "") == "ended") return kGood;
      if (event->value("event", "") == "overrun") return kNoAnswer;
    }
  }

  std::string line_of(const Json& event) const {
    return options_.json ? event.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"
                         : line_of_event(event, look_of(stdout));
  }

  int accepted(const Json& reply, const Json& arguments) {
    if (options_.verb->kind == Verb::Kind::request || options_.wait <= 0)
      return done(reply, Json());
    const os::Deadline deadline = in_seconds(options_.wait);
    for (;;) {
      const Result<Json> event = client_.receive(deadline);
      if (!event && ends_the_run() && event.error().status == Status::ERROR_SERVER)
        return done(reply, {{"event", "ended"}});  // it could not say so any more
      if (!event) return done(reply, Json());
      if (is_outcome(*event, *options_.verb, arguments, reply)) return done(reply, *event);
    }
  }

  bool ends_the_run() const { return options_.verb->awaited == "ended"; }

  // `event`: what has come of it; null when that is not known yet.
  int done(Json reply, const Json& event) {
    const bool late = event.is_null() && options_.must_wait;
    if (options_.json) {
      if (event.is_object()) reply["event"] = event;
      said_ = cli::text_of(reply);
    } else {
      said_ = event.is_object() ? line_of(event) : "accepted\n";
    }
    if (late) complain("it is not known in time what has come of it");
    return late ? kNoAnswer : kGood;
  }

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
    if (!all[i].server) refuse("ctl", "no server of session \"" + names[i] + "\" listens any more");
    if (options.json)
      answers.push_back(all[i].server ? all[i].server->as_json(names[i])
                                      : Json{{"ok", false}, {"session", names[i]}});
    else if (all[i].server)
      all[i].server->say(is_short(*options.verb) ? names[i] + ": " : names[i] + "\n");
  }
  if (options.json) print(text_of(answers));
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
  options.verb = control::find_verb(options.name);
  if (!options.verb)
    return refuse("ctl",
                  "there is no verb \"" + options.name + "\"" +
                      did_you_mean(options.name, control::names_of_verbs()),
                  kUsage);
  if (options.verb->words.empty() && !options.arguments.empty())
    return refuse("ctl",
                  options.name + " has no arguments: \"" + options.arguments[0] + "\" is too much",
                  kUsage);
  std::optional<Json> arguments = arguments_of(*options.verb, options.arguments);
  if (!arguments)
    return refuse(
        "ctl",
        "write `leat ctl " + options.session + " " + options.name + " " + options.verb->words + "`",
        kUsage);
  if (options.verb->takes("scope")) (*arguments)["scope"] = options.scope;
  const os::Deadline deadline = in_seconds(options.timeout);
  Result<ControlClient> client = ControlClient::connect(options.session, deadline);
  if (!client && client.error().status == Status::ERROR_SERVER) {
    const std::vector<std::string> named = sessions_of_simulation(options.session, deadline);
    if (named.size() > 1) return refuse("ctl", several_runs(options.session, named), kUsage);
    if (named.size() == 1) {
      options.session = named.front();
      client = ControlClient::connect(options.session, deadline);
    }
  }
  if (client) {
    Ctl first(options, std::move(*client));
    const std::vector<std::string> names = first.servers();
    if (names.size() > 1) return run_on_all(options, *arguments, names);
    const int code = first.run(*arguments);
    first.say("");
    return code;
  }
  const bool is_busy = client.error().status == Status::ERROR_TIMEOUT;
  return refuse("ctl",
                "no server of a session \"" + options.session + "\" " +
                    (is_busy ? "answers" : "listens") + " on this node" +
                    (is_busy ? "" : did_you_mean(options.session, names_of_sessions())),
                is_busy ? kNoAnswer : kNoSession);
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
  verb->add_option("VERB", options->name, "One of those below")->required();
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

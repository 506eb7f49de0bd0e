// SPDX-License-Identifier: Apache-2.0
// What a script, or a module, says in a call, and what it is answered.
#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "lib/comm/certificate.hpp"
#include "lib/os/clock.hpp"
#include "server/state/group/awaited_outcome.hpp"
#include "server/workers/frames.hpp"
#include "server/workers/graph/modules.hpp"
#include "server/workers/script_reduction.hpp"
#include "server/workers/script_task.hpp"
#include "server/workers/script_worker.hpp"

namespace leat::server {
namespace {

// The worker itself says where it is when its time is up; then it is ended.
constexpr double kGraceSeconds = 0.5;

}  // namespace

// Gives an order and takes what the worker says until the answer. Returns why there is none.
ScriptFailure ScriptWorker::converse(Script& script, const Frame& order, double seconds,
                                     const Iteration* iteration, Frame* answer) {
  const std::int64_t deadline_ns =
      os::now_ns() + static_cast<std::int64_t>((seconds + kGraceSeconds) * 1e9);
  FrameStatus status =
      seat_.process.send(order, deadline_ns) ? FrameStatus::frame : FrameStatus::ended;
  try {
    while (status == FrameStatus::frame) {
      status = seat_.process.receive(answer, deadline_ns);
      if (status != FrameStatus::frame) break;
      if (text_in(answer->head, "kind") == "answer") return {};
      if (const auto reply = reply_to(script, *answer, iteration, deadline_ns)) {
        if (!seat_.process.send(*reply, deadline_ns)) status = FrameStatus::ended;
      } else {
        take_message(script, *answer, iteration);
      }
      // One that talks without end is late too.
      if (os::now_ns() >= deadline_ns) status = FrameStatus::late;
    }
  } catch (const std::exception& e) {  // more than there is memory for
    context_.log->error("{}: what its process says cannot be taken: {}", script.title(), e.what());
  }
  if (script.inputs && status == FrameStatus::ended) seat_.process.await_end();
  const bool stopped = seat_.process.was_stopped();
  const bool late = status == FrameStatus::late || os::now_ns() >= deadline_ns;
  const std::string how = seat_.process.end();
  if (status == FrameStatus::malformed) {
    process_died();
    return {
        "its process said something to leatd that makes no sense, as when the script writes to "
        "descriptor 3, and was ended",
        seat_.process.all_last_words()};
  }
  if (script.inputs &&
      how.starts_with("ended with status 0")) {  // of its own will, after its last turn
    process_died();
    module_is_done();
    return {};
  }
  interfered_ = stopped || (!late && how.starts_with("was killed by signal 9"));
  process_died();
  if (stopped)
    return {fmt::format("its process was stopped for longer than {:g} s and was ended",
                        static_cast<double>(context_.plan.stop_limit_ns) * 1e-9),
            ""};
  ScriptFailure failure{"its process " + how, seat_.process.all_last_words()};
  if (late)
    failure.text = fmt::format("it took longer than {:g} s and was ended{}", seconds,
                               how.substr(std::min(how.find('\n'), how.size())));
  const std::lock_guard<std::mutex> lock(board_.mutex);
  script.overran = late;
  return failure;
}

// With what a cluster of all servers secures its connections. A server that has the whole run has nobody to share a secret with.
Frame ScriptWorker::contact_frame(const Reductions::Contact& contact) {
  const Result<comm::Credential> credential = contact.credential.empty()
                                                  ? comm::Credential::make()
                                                  : comm::Credential::from_text(contact.credential);
  if (!credential) return not_reduced(credential.error().message);
  const Result<comm::Certificate> own = comm::certificate_of(*credential);
  if (!own) return not_reduced(own.error().message);
  return {{{"kind", "contact"},
           {"why", ""},
           {"authority", own->authority},
           {"certificate", own->certificate},
           {"key", own->key},
           {"addresses", contact.addresses}},
          ""};
}

// To what the script waits for; nothing to what it only tells.
std::optional<Frame> ScriptWorker::reply_to(Script& script, const Frame& message,
                                            const Iteration* iteration, std::int64_t deadline_ns) {
  const std::string kind = text_in(message.head, "kind");
  if (kind != "reduce" && kind != "place" && kind != "contact") return std::nullopt;
  // Sooner than its time is up, so that it is told in time, and is not ended.
  const auto grace_ns = static_cast<std::int64_t>(kGraceSeconds * 1e9);
  const std::int64_t left_ns = deadline_ns - os::now_ns();
  const std::int64_t until_ns = deadline_ns - std::min(2 * grace_ns, left_ns / 2);
  if (kind != "reduce") {
    const auto place = await_place(until_ns);
    if (!place) return not_reduced("the other servers of the run are not known in time", true);
    if (kind == "contact") return contact_frame(context_.reductions.contact());
    return Frame{{{"kind", "place"},
                  {"why", ""},
                  {"server", place->self},
                  {"servers", place->servers},
                  {"is_first", place->self == place->first}},
                 ""};
  }
  if (!iteration) return not_reduced("it is for calls with an iteration");
  try {
    return reduce(script, message, iteration->number, until_ns);
  } catch (const std::invalid_argument& e) {
    return not_reduced(e.what());
  }
}

std::optional<Reductions::Place> ScriptWorker::await_place(std::int64_t deadline_ns) {
  std::optional<Reductions::Place> place = context_.reductions.place();
  while (!place && os::now_ns() < deadline_ns && !seat_.process.has_ended()) {
    os::pause_shortly();
    place = context_.reductions.place();
  }
  return place;
}

Frame ScriptWorker::reduce(Script& script, const Frame& message, std::int64_t iteration,
                           std::int64_t deadline_ns) {
  constexpr std::uint32_t kMostCalls = 1 << 16;                   // as number_of() has room for
  constexpr std::int64_t kMostIteration = std::int64_t{1} << 46;  // the same
  const auto place = await_place(deadline_ns);
  if (!place) return not_reduced("the other servers of the run are not known in time", true);
  const comm::Columns own = columns_in(message, place->self);
  const std::string function = text_in(message.head, "function");
  comm::Round round{channel_of_script(script.file.name, function), 0};
  {
    const std::lock_guard<std::mutex> lock(board_.mutex);
    ScriptReductions& before = script.reductions[function];
    if (iteration < before.iteration)
      return not_reduced(
          fmt::format("it was called with iteration {} when {} had reduced in iteration {}: "
                      "what is made of products that come late is of one server",
                      iteration, function, before.iteration));
    if (iteration > before.iteration) before = {iteration, 0};
    if (before.calls >= kMostCalls || iteration < 0 || iteration > kMostIteration)
      return not_reduced(
          "there are too many calls, or the iteration has a number beyond all bounds");
    round.number = number_of(iteration, static_cast<std::uint16_t>(before.calls++));
    seat_.awaits_servers = true;
  }
  const auto awaited = std::make_shared<AwaitedOutcome>();
  context_.reductions.contribute(
      round, own, [awaited](const comm::Outcome& outcome) { awaited->came(outcome); });
  const std::optional<comm::Outcome> outcome =
      awaited->await(deadline_ns, [this] { return seat_.process.has_ended(); });
  {
    const std::lock_guard<std::mutex> lock(board_.mutex);
    seat_.awaits_servers = false;
  }
  if (outcome) return reduced(*outcome, own);
  return not_reduced(
      fmt::format(
          "the other servers of the run have not all come to iteration {} within the {:g} s of "
          "timeout=\"...\" that a call may take",
          iteration, script.timeout_seconds()),
      true);
}

void ScriptWorker::take_message(const Script& script, Frame& message, const Iteration* iteration) {
  const std::string kind = text_in(message.head, "kind");
  if (kind == "log") {
    context_.log->log(log_level_of(text_in(message.head, "level")), "{}: {}", script.title(),
                      text_in(message.head, "text"));
  } else if (kind == "copied") {
    held_.reset();
  } else if (kind == "results") {
    if (!iteration) return;
    if (script.inputs) return take_outputs(script, message, *iteration);
    take_products(script, message, *iteration);
  } else if (kind == "set") {
    context_.steering.ask({(script.inputs ? "module/" : "") + script.file.name,
                           text_in(message.head, "parameter"), value_in(message.head),
                           text_in(message.head, "scope") == "node"});
    context_.wake();
  } else if (kind == "signal") {
    context_.steering.ask({(script.inputs ? "module/" : "") + script.file.name,
                           text_in(message.head, "event"),
                           {},
                           false,
                           true});
    context_.wake();
  }
}

void ScriptWorker::take_products(const Script& script, Frame& message, const Iteration& iteration) {
  struct Made {
    std::string data;
    std::shared_ptr<const void> pending;  // the iteration, until the stores have it
  };
  const auto made = std::make_shared<const Made>(
      Made{std::move(message.data), context_.pending.hold(iteration.number)});
  Publication published{Publication::Source::script,
                        script.file.name,
                        iteration.number,
                        products_in(message.head, made->data),
                        made,
                        iteration.parameters};
  {
    const std::lock_guard<std::mutex> lock(board_.mutex);
    modules::give(board_, published);
  }
  context_.publish(std::move(published));
}

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
#include "server/engine/traced_engine.hpp"

#include <string>
#include <utility>

#include "lib/os/clock.hpp"

namespace leat::server {
namespace {

// Steps so near to each other are drawn as one turn.
constexpr std::int64_t kOneTurnNs = 50'000;
// Of a reason, in a name.
constexpr std::size_t kMostText = 120;

std::string moment_text(const IterationEvent& event) {
  using Kind = IterationEvent::Kind;
  const std::string of_store = "store " + event.subject;
  switch (event.kind) {
    case Kind::open:
    case Kind::stored:
      return "";  // slices say so
    case Kind::complete:
      return "complete";
    case Kind::failed:
      return of_store + " failed: " + event.text;
    case Kind::skipped:
      return of_store + " skipped it";
    case Kind::dropped:
      return "dropped: " + event.text;
    case Kind::steered:
      return event.subject + " = " + event.text + " by " + event.who;
    case Kind::signalled:
      return "event " + event.subject;
  }
  return "";
}

}  // namespace

TracedEngine::TracedEngine(SessionState& session, Dispatcher& dispatcher)
    : session_(session), dispatcher_(dispatcher), trace_(session.run.trace.get()) {
  if (!trace_) return;
  turns_ = trace_->track("server", kServerPlace);
  used_ = trace_->track("buffer in use", kCounterPlace, perfetto::Unit::bytes);
  waiting_ = trace_->track("iterations waiting", kCounterPlace + 1, perfetto::Unit::count);
  session_.events.trace_with([this](const IterationEvent& event) { happened(event); });
}

void TracedEngine::start() {
  if (trace_) trace_->start(session_.run.executor);
}

void TracedEngine::finish() {
  if (!trace_) return;
  draw_turn();
  draw_numbers(os::now_ns());
  trace_->finish();
}

void TracedEngine::stepped(std::int64_t begun_ns, bool busy) {
  if (!trace_) return;
  const std::int64_t now_ns = os::now_ns();
  if (!busy || begun_ns - turn_ended_ns_ > kOneTurnNs) draw_turn();
  if (busy) {
    if (turn_begun_ns_ == 0) turn_begun_ns_ = begun_ns;
    turn_ended_ns_ = now_ns;
  }
  draw_numbers(now_ns);
}

void TracedEngine::draw_turn() {
  if (turn_begun_ns_ != 0) trace_->add(turns_, {turn_begun_ns_, turn_ended_ns_, "turn", true});
  turn_begun_ns_ = 0;
}

void TracedEngine::draw_numbers(std::int64_t now_ns) {
  const auto used = static_cast<std::int64_t>(session_.memory.regions().used_bytes());
  const auto waiting =
      static_cast<std::int64_t>(dispatcher_.pipeline().queue().iterations_waiting());
  if (std::exchange(last_used_, used) != used) trace_->number(used_, now_ns, used);
  if (std::exchange(last_waiting_, waiting) != waiting) trace_->number(waiting_, now_ns, waiting);
}

void TracedEngine::happened(const IterationEvent& event) {
  const std::string text = moment_text(event).substr(0, kMostText);
  if (text.empty()) return;
  trace_->moment(turns_, os::now_ns(), name_of_iteration(event.iteration) + ": " + text,
                 event.iteration);
}

}  // namespace leat::server

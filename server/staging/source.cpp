// SPDX-License-Identifier: Apache-2.0
#include "server/staging/source.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <variant>

#include "lib/shm/layout.hpp"
#include "lib/staging/values.hpp"

namespace leat::staging {
namespace {

using client::BlockShape;
using client::Call;
using client::Lock;
using nlohmann::json;

constexpr const char* kCall = "leat staging";
constexpr auto kPulse = std::chrono::milliseconds(300);
constexpr std::int64_t kPulseLimit = 5'000'000'000;
// A simulation may compute for days between two iterations. That its node is gone is noticed by the connection.
constexpr std::int64_t kForEver = std::int64_t{1} << 60;

BlockShape shape_of(const BlockHead& head) {
  BlockShape shape;
  shape.dims = head.dims;
  shape.bytes = head.bytes;
  shape.place = head.has_level      ? shm::Place::in_level
                : head.has_position ? shm::Place::in_global
                                    : shm::Place::none;
  shape.level = static_cast<std::uint16_t>(head.level);
  for (std::uint32_t d = 0; d < std::min<std::uint32_t>(head.dims, kMaxDims); ++d) {
    shape.extent[d] = head.extent[d];
    shape.position[d] = head.position[d];
  }
  return shape;
}

void set(const Call& call, client::ParameterCalls& parameters, const std::string& name,
         const ParameterValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value))
    (void)parameters.set_integer(call, name.c_str(), *integer);
  else if (const auto* real = std::get_if<double>(&value))
    (void)parameters.set_real(call, name.c_str(), *real);
  else
    (void)parameters.set_text(call, name.c_str(), std::string(as_text(value)));
}

}  // namespace

Source::Source(Share share, RankList own, std::string config, std::int64_t timeout_ns,
               model::KeepUntil keep_until)
    : share_(std::move(share)),
      own_(std::move(own)),
      config_(std::move(config)),
      timeout_ns_(timeout_ns),
      keep_until_(keep_until) {}

Source::~Source() {
  {
    const std::lock_guard lock(serving_);
    is_over_ = true;
  }
  changed_.notify_all();
  if (pulse_.joinable()) pulse_.join();
  for (Rank& each : ranks_)
    if (each.session) each.session->leave_to_parent();
}

Result<void> Source::open() {
  if (!ranks_.empty()) return {};
  for (const std::int32_t number : own_) {
    const auto place = std::lower_bound(share_.ranks.begin(), share_.ranks.end(), number);
    if (place == share_.ranks.end() || *place != number)
      return Error{Status::ERROR_ARGUMENT,
                   "rank " + std::to_string(number) + " is not of the share"};
    client::Ranks ranks;
    ranks.rank = number;
    ranks.size = share_.all;
    ranks.node_rank = static_cast<int>(place - share_.ranks.begin());
    ranks.node_size = static_cast<int>(share_.ranks.size());
    ranks.session = session_of(share_);
    Result<std::unique_ptr<client::Session>> session =
        client::Session::open_one_of_several(config_, ranks);
    if (!session) return session.error();
    (*session)->parameters().tell_steered(
        [this](const std::string& name, const ParameterValue& value) { steered_[name] = value; });
    ranks_.push_back({number, std::move(*session)});
  }
  pulse_ = std::jthread([this] { say_that_it_lives(); });
  return {};
}

// Only while the source waits for something: else nobody would read it.
void Source::say_that_it_lives() {
  std::unique_lock lock(serving_);
  while (!is_over_) {
    changed_.wait_for(lock, kPulse);
    if (is_over_ || !is_at_work_ || !conversation_) continue;
    const std::string progress = std::to_string(this->progress());
    (void)conversation_->send(FrameKind::alive, progress, kPulseLimit);
  }
}

std::int64_t Source::ended() {
  const std::lock_guard lock(mutex_);
  return ended_;
}

void Source::take_over(Conversation& conversation) {
  std::unique_lock lock(serving_);
  ++taken_over_;
  if (conversation_) conversation_->stream().give_up();
  changed_.notify_all();
  changed_.wait(lock, [this] { return !is_served_; });
  conversation_ = &conversation;
  is_served_ = true;
}

bool Source::is_left_for(std::int64_t ns) {
  std::unique_lock lock(serving_);
  const std::uint64_t now = taken_over_;
  return !changed_.wait_for(lock, std::chrono::nanoseconds(ns), [&] { return taken_over_ != now; });
}

Source::End Source::serve() {
  const End end = serve_until_the_end();
  forget_pending();
  let_go();
  return end;
}

void Source::let_go() {
  const std::lock_guard lock(serving_);
  conversation_ = nullptr;
  is_served_ = is_at_work_ = false;
  changed_.notify_all();
}

std::uint64_t Source::progress() {
  const std::lock_guard lock(mutex_);
  const client::Session* const session = any_session();
  return session ? session->progress() : 0;
}

Source::Rank* Source::rank_of(std::int32_t number) {
  for (Rank& each : ranks_)
    if (each.number == number && each.session) return &each;
  return nullptr;
}

client::Session* Source::any_session() {
  for (const Rank& each : ranks_)
    if (each.session) return each.session.get();
  return nullptr;
}

Source::End Source::serve_until_the_end() {
  Conversation& conversation = *conversation_;
  Frame frame;
  signals_seen_ = 0;
  while (conversation.receive(&frame, kForEver)) {
    {
      const std::lock_guard lock(serving_);
      is_at_work_ = true;
    }
    try {
      switch (frame.kind) {
        case FrameKind::parameters:
          take_parameters(frame.text);
          break;
        case FrameKind::signal:
          take_signal(frame.text);
          break;
        case FrameKind::block:
          if (take_block(frame.block)) break;
          why_ = conversation.why_over();
          return End::cut_off;
        case FrameKind::products:
          if (take_products(frame.text)) break;
          why_ = conversation.why_over();
          return End::cut_off;
        case FrameKind::end:
          end_iteration(frame.text);
          break;
        case FrameKind::bye:
          return take_bye(frame.text);
        default:
          why_ = "it said what a source does not say";
          return End::bad;
      }
    } catch (const json::exception& e) {
      why_ = std::string("it said what makes no sense: ") + e.what();
      return End::bad;
    }
  }
  why_ = conversation.why_over();
  return End::cut_off;
}

// Of the first rank of the source, for all of them: only it is known.
void Source::take_parameters(const std::string& text) {
  const json said = json::parse(text);
  refused_ = 0;
  Lock lock(mutex_);
  const Call call{kCall, lock};
  if (said.at("iteration") > ended_) to_tell_.clear();
  for (Rank& each : ranks_)
    if (each.session) each.session->go_to(said.at("iteration"));
  pass_on_steering(call);
  for (const auto& [name, value] : said.at("values").items()) {
    const std::string now = value.dump();
    if (std::exchange(parameters_[name], now) == now) continue;
    for (Rank& each : ranks_)
      if (each.session) set(call, each.session->parameters(), name, value_in(value));
  }
}

// What scripts here have set is for the simulation: its ranks set it, and until then they have what they had.
void Source::pass_on_steering(const Call& call) {
  const std::int32_t first = share_.moved > 0 ? share_.ranks.front() : 0;
  for (const auto& [name, value] : std::exchange(steered_, {})) {
    if (own_.front() == first) to_tell_[name] = json_of(value);
    const auto before = parameters_.find(name);
    if (before == parameters_.end()) continue;
    for (Rank& each : ranks_)
      if (each.session)
        set(call, each.session->parameters(), name, value_in(json::parse(before->second)));
  }
}

// Those of an iteration that was cut off come again, in the same order.
void Source::take_signal(const std::string& text) {
  if (signals_seen_++ < signals_done_) return;
  signals_done_ = signals_seen_;
  const json said = json::parse(text);
  const std::int32_t by = said.at("rank");
  Lock lock(mutex_);
  const Call call{kCall, lock};
  for (Rank& each : ranks_) {
    if (!each.session || (by >= 0 && by != each.number)) continue;
    each.session->go_to(said.at("iteration"));
    (void)each.session->signals().signal(call, said.at("event").get<std::string>().c_str());
  }
}

// Its sender has given it away, so it is waited for memory until the sender gives up, however long that takes. What can never
// have any is said to be lost by the session, which counts it; its bytes are read all the same.
bool Source::take_block(const BlockHead& head) {
  Rank* const rank = rank_of(head.rank);
  void* data = nullptr;
  Status status = rank && head.dims <= kMaxDims ? Status::OK : Status::ERROR_ARGUMENT;
  if (status == Status::OK) status = await_memory(*rank, head, &data);
  if (static_cast<int>(status) < 0) ++refused_;
  if (data)
    pending_.push_back({rank->session.get(), data,
                        head.has_checksum ? std::optional(head.checksum) : std::nullopt});
  return conversation_->receive_data(head, data, timeout_ns_);
}

Status Source::await_memory(Rank& rank, const BlockHead& head, void** data) {
  Lock lock(mutex_);
  const Call call{kCall, lock};
  Status status = Status::ERROR_TIMEOUT;
  while (status == Status::ERROR_TIMEOUT && !conversation_->stream().is_given_up())
    status = rank.session->blocks().alloc_as(call, head.variable, head.block, shape_of(head),
                                             head.global, data);
  return status;
}

bool Source::take_products(const std::string& text) {
  std::optional<json> answer = products_.take(*conversation_, text, any_session());
  if (!answer) return false;
  if (keep_until_ == model::KeepUntil::stored)
    products_.await_through(*conversation_, any_session());
  answer->update(products_.numbers(any_session()));
  be_idle();
  conversation_->send(FrameKind::products_taken, answer->dump(), timeout_ns_);
  return true;
}

void Source::hand_over() {
  Lock lock(mutex_);
  const Call call{kCall, lock};
  for (const Pending& each : pending_) {
    const Status status = each.session->blocks().commit_at(
        call, each.data, each.checksum ? &*each.checksum : nullptr);
    if (static_cast<int>(status) < 0) ++refused_;
  }
  pending_.clear();
}

void Source::forget_pending() {
  const std::lock_guard lock(mutex_);
  for (const Pending& each : pending_) each.session->blocks().give_back(each.data);
  pending_.clear();
}

// Without it its iteration is not complete.
void Source::let_die(std::int32_t number) {
  Rank* const rank = rank_of(number);
  if (!rank) return;
  const std::lock_guard lock(mutex_);
  rank->session->leave_to_parent();
  rank->session.reset();
}

void Source::be_idle() {
  const std::lock_guard lock(serving_);
  is_at_work_ = false;
}

// It may be said once more, by one who does not know that it has come.
void Source::end_iteration(const std::string& text) {
  const json said = json::parse(text);
  const std::int64_t iteration = said.at("iteration");
  if (iteration > ended_) {
    const bool has_blocks = !pending_.empty();
    hand_over();
    for (const std::int32_t died : said.value("died", json::array())) let_die(died);
    end_iteration(iteration);
    if (has_blocks) stored_by_ = iteration;
  }
  json taken = {{"iteration", iteration}, {"refused", refused_}, {"stored", await_stored()}};
  if (!to_tell_.empty()) taken["steered"] = to_tell_;
  be_idle();
  conversation_->send(FrameKind::taken, taken.dump(), timeout_ns_);
}

void Source::end_iteration(std::int64_t iteration) {
  signals_seen_ = signals_done_ = 0;
  Lock lock(mutex_);
  const Call call{kCall, lock};
  for (Rank& each : ranks_) {
    if (!each.session) continue;
    each.session->go_to(iteration);
    (void)each.session->end_iteration(call);
  }
  pass_on_steering(call);
  ended_ = iteration;
}

// How far the stores here are; with keep-until="stored" they have all that has come.
std::int64_t Source::await_stored() {
  Lock lock(mutex_);
  const Call call{kCall, lock};
  client::Session* const session = any_session();
  if (!session) return -1;
  Status status = Status::ERROR_FULL;
  while (keep_until_ == model::KeepUntil::stored && status == Status::ERROR_FULL &&
         !conversation_->stream().is_given_up())
    status = session->await_stored(call, stored_by_);
  return session->stored_until();
}

// All at the same time, as ranks do: a server that takes over waits for each of them.
Status Source::await_drained() {
  std::vector<std::pair<std::int32_t, std::future<Status>>> waiting;
  for (Rank& each : ranks_)
    if (each.session)
      waiting.emplace_back(each.number, std::async(std::launch::async, [&session = *each.session] {
                             return session.await_drained(kCall);
                           }));
  Status worst = Status::OK;
  for (auto& [number, status] : waiting) {
    const Status one = status.get();
    if (static_cast<int>(one) < 0) worst = one;
    let_die(number);  // it has said that it is done
  }
  return worst;
}

// What the source has lost by itself is in the ledger of this node, too: its stores have no more than came.
Source::End Source::take_bye(const std::string& text) {
  const json said = json::parse(text);
  Lock lock(mutex_);
  const Call call{kCall, lock};
  for (const json& loss : said.value("lost", json::array())) {
    Rank* const rank = rank_of(loss.at("rank"));
    if (!rank) continue;
    rank->session->failures().lose_elsewhere(
        call, loss.at("variable"), loss.at("iteration"), loss.at("writes"), loss.at("bytes"),
        {Status::ERROR_LOST, loss.at("why").get<std::string>()});
  }
  for (Rank& each : ranks_) {
    if (!each.session) continue;
    for (const std::int64_t dropped : said.value("dropped", json::array()))
      each.session->leave_out(dropped);
    each.session->detach(call);
  }
  lock.unlock();
  Status worst = await_drained();
  // That it had lost something by itself, the source knows.
  if (worst == Status::ERROR_LOST && !said.value("lost", json::array()).empty()) worst = Status::OK;
  be_idle();
  conversation_->send(
      FrameKind::stored,
      json{{"status", static_cast<int>(worst)}, {"why", status_meaning(worst)}}.dump(),
      timeout_ns_);
  if (worst != Status::OK) why_ = "not all of it is stored: the log and the ledger say what";
  return worst == Status::OK ? End::good : End::bad;
}

}  // namespace leat::staging

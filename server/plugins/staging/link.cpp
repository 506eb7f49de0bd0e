// SPDX-License-Identifier: Apache-2.0
#include "server/plugins/staging/link.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/os/clock.hpp"

namespace leat::staging {
namespace {

using nlohmann::json;

constexpr std::int64_t kConnect = 5 * kSecond;
constexpr std::int64_t kGlance = kSecond / 5;
// A staging node without memory takes no bytes, and says that it lives: its silence ends what is sent.
constexpr std::int64_t kForEver = std::int64_t{1} << 60;
// The first answer may have to wait for a server to start, or for all servers of the run to ask.
constexpr std::int64_t kAnswer = 90 * kSecond;

Result<std::unique_ptr<Conversation>> call(const comm::Offer& card,
                                           std::int64_t limit_ns = kConnect) {
  Result<comm::Credential> credential = comm::Credential::from_text(card.credential);
  if (!credential) return credential.error();
  Result<std::unique_ptr<comm::ByteStream>> stream =
      comm::ByteStream::connect(card.card.addresses, card.card.port, *credential, limit_ns);
  if (!stream) return stream.error();
  return std::make_unique<Conversation>(std::move(*stream));
}

Result<json> answer_to(Conversation& conversation, const json& hello,
                       std::int64_t limit_ns = kAnswer) {
  Frame answer;
  const bool came = conversation.send(FrameKind::hello, hello.dump(), kConnect) &&
                    conversation.receive(&answer, limit_ns) && answer.kind == FrameKind::answer;
  const std::string where = conversation.stream().peer() + ": ";
  if (!came) return Error{Status::ERROR_SERVER, where + conversation.why_over()};
  json said = json::parse(answer.text, nullptr, false);
  if (said.is_discarded()) return Error{Status::ERROR_SERVER, where + "its answer makes no sense"};
  if (said.contains("why"))
    return Error{Status::ERROR_CONFIG, where + said["why"].get<std::string>()};
  return said;
}

}  // namespace

Result<std::int64_t> Link::ask_plan(const comm::Offer& first, Share* share, const RankList& own) {
  Result<std::unique_ptr<Conversation>> conversation = call(first);
  if (!conversation) return conversation.error();
  const Result<json> answer = answer_to(
      **conversation, {{"wants", "plan"}, {"run", share->run}, {"all", share->all}, {"own", own}});
  if (!answer) return answer.error();
  share->ranks = answer->value("ranks", RankList());
  return answer->value("node", std::int64_t{0});
}

Result<std::unique_ptr<Link>> Link::open(const comm::Offer& card, const Caller& caller,
                                         std::int64_t limit_ns) {
  const bool is_known = limit_ns > 0;
  Result<std::unique_ptr<Conversation>> conversation =
      call(card, is_known ? std::min(limit_ns, kConnect) : kConnect);
  if (!conversation) return conversation.error();
  const Result<json> answer = answer_to(**conversation,
                                        {{"wants", "share"},
                                         {"share", json::parse(text_of(caller.share))},
                                         {"own", caller.own},
                                         {"node", caller.node},
                                         {"xml", caller.xml}},
                                        is_known ? limit_ns : kAnswer);
  if (!answer) return answer.error();
  (*conversation)->stream().settle(answer->value("plain", false));
  std::unique_ptr<Link> link(new Link(std::move(*conversation), caller));
  link->ended_ = answer->value("ended", std::int64_t{-1});
  link->take_numbers(answer->value("products", json::object()));
  link->reader_ = std::jthread([own = link.get()] { own->read(); });
  return link;
}

Link::Link(std::unique_ptr<Conversation> conversation, const Caller& caller)
    : conversation_(std::move(conversation)),
      silence_ns_(caller.silence_ns),
      progress_(caller.progress) {}

Link::~Link() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  conversation_->stream().give_up();
  if (reader_.joinable()) reader_.join();
}

std::string Link::why() const {
  const std::lock_guard lock(mutex_);
  return why_.empty() ? conversation_->why_over() : why_;
}

void Link::be_at_work(bool at_work) {
  const std::lock_guard lock(mutex_);
  if (at_work && !is_at_work_) heard_ns_ = os::now_ns();
  is_at_work_ = at_work;
}

bool Link::send(FrameKind kind, const std::string& text) {
  be_at_work(true);
  return conversation_->send(kind, text, kForEver);
}

bool Link::send_block(const BlockHead& head, const void* data) {
  be_at_work(true);
  return conversation_->send_block(head, data, kForEver);
}

bool Link::await(const std::function<bool()>& has_come) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_over_ || has_come(); });
  is_at_work_ = false;
  return has_come();
}

bool Link::await_taken(std::int64_t iteration) {
  return await([&] { return taken_ >= iteration; });
}

bool Link::await_products(std::uint64_t number, std::string* why) {
  const bool came = await([&] { return products_ >= number; });
  *why = why_no_products_;
  return came;
}

std::uint64_t Link::products() const {
  const std::lock_guard lock(mutex_);
  return products_;
}

std::uint64_t Link::products_through() const {
  const std::lock_guard lock(mutex_);
  return products_through_;
}

void Link::take_numbers(const json& said) {
  products_ = said.value("number", products_);
  products_through_ = said.value("through", products_through_);
  why_no_products_ = said.value("why", "");
}

std::uint64_t Link::refused() const {
  const std::lock_guard lock(mutex_);
  return refused_;
}

json Link::take_steered() {
  const std::lock_guard lock(mutex_);
  return std::exchange(steered_, json::object());
}

bool Link::await_stored(int* status) {
  const bool came = await([&] { return status_ != 1; });
  *status = status_;
  return came;
}

// Time in which this process did not run is no silence of the other one: what has come meanwhile is read first.
void Link::read() {
  std::int64_t looked_ns = os::now_ns();
  while (true) {
    const bool has_more = conversation_->stream().has_more_within(kGlance);
    Frame frame;
    if (has_more && conversation_->receive(&frame, silence_ns_)) {
      take(frame);
      looked_ns = os::now_ns();
      continue;
    }
    const std::lock_guard lock(mutex_);
    const std::int64_t now_ns = os::now_ns(), away_ns = now_ns - looked_ns;
    looked_ns = now_ns;
    if (away_ns > 5 * kGlance) heard_ns_ += away_ns;
    if (!has_more && !is_over_ && (!is_at_work_ || now_ns - heard_ns_ < silence_ns_)) continue;
    if (!has_more && !is_over_)
      why_ = "it has said nothing for " + std::to_string(silence_ns_ / kSecond) + " s";
    is_over_ = true;
    break;
  }
  conversation_->stream().give_up();
  changed_.notify_all();
}

void Link::take(const Frame& frame) {
  const json said = json::parse(frame.text, nullptr, false);
  std::function<void()> progress;
  {
    const std::lock_guard lock(mutex_);
    heard_ns_ = os::now_ns();
    if (frame.kind == FrameKind::alive && std::exchange(last_progress_, frame.text) != frame.text)
      progress = progress_;
    if (frame.kind == FrameKind::taken && said.is_object()) {
      taken_ = std::max(taken_, said.value("iteration", taken_));
      refused_ = said.value("refused", std::uint64_t{0});
      stored_ = std::max<std::int64_t>(stored_, said.value("stored", std::int64_t{-1}));
      steered_ = said.value("steered", json::object());
    }
    if (frame.kind == FrameKind::products_taken && said.is_object()) take_numbers(said);
    if (frame.kind == FrameKind::stored && said.is_object()) status_ = said.value("status", -1);
  }
  changed_.notify_all();
  if (progress) progress();
}

}  // namespace leat::staging

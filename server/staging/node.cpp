// SPDX-License-Identifier: Apache-2.0
#include "server/staging/node.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/comm/addresses.hpp"
#include "lib/os/clock.hpp"
#include "lib/os/process.hpp"
#include "server/staging/source.hpp"

namespace leat::staging {
namespace {

using nlohmann::json;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kHandshake = 10 * kSecond;
constexpr int kLookMs = 200;
// Servers of a run begin when all of their ranks have come: as long as ranks may take for that, or three quarters of the timeout.
constexpr std::int64_t kRegister = 60 * kSecond;
// A server that has lost its link comes again, or its ranks elsewhere do.
constexpr std::int64_t kLinger = 3 * kSecond;

volatile std::sig_atomic_t signals = 0;

extern "C" void on_signal(int) { signals = signals + 1; }

std::string refusal(const std::string& why) { return json{{"why", why}}.dump(); }

}  // namespace

Registry::Answer Registry::ask(const std::string& name, std::int32_t all, const RankList& own,
                               std::int64_t nodes, std::int64_t limit_ns) {
  std::unique_lock lock(mutex_);
  Run& run = runs_[name];
  const auto known = std::find(run.servers.begin(), run.servers.end(), own);
  const auto index = static_cast<std::size_t>(known - run.servers.begin());
  if (known == run.servers.end()) {
    run.servers.push_back(own);
    run.ranks += own.size();
    run.is_planned = false;  // one that was not waited for
  }
  changed_.wait_for(lock, std::chrono::nanoseconds(limit_ns),
                    [&] { return run.is_planned || run.ranks >= static_cast<std::size_t>(all); });
  if (!run.is_planned) run.plan = plan_of(run.servers, nodes);
  run.is_planned = true;
  changed_.notify_all();
  Answer answer{run.plan[index], {}};
  for (std::size_t i = 0; i < run.servers.size(); ++i)
    if (run.plan[i] == answer.node)
      answer.ranks.insert(answer.ranks.end(), run.servers[i].begin(), run.servers[i].end());
  std::sort(answer.ranks.begin(), answer.ranks.end());
  return answer;
}

void end_by_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  for (const int each : {SIGTERM, SIGINT}) sigaction(each, &action, nullptr);
  sigset_t both;
  sigemptyset(&both);
  for (const int each : {SIGTERM, SIGINT}) sigaddset(&both, each);
  pthread_sigmask(SIG_UNBLOCK, &both, nullptr);
}

Node::Node(model::Model model, NodeOptions options)
    : model_(std::move(model)),
      options_(std::move(options)),
      folder_(folder_of_cards(model_.name)) {}

Node::~Node() = default;

std::int64_t Node::timeout_ns() const {
  return static_cast<std::int64_t>(model_.architecture.timeout_seconds * 1e9);
}

void Node::say(const std::string& text) {
  std::fprintf(stderr, "leat staging: %s\n", text.c_str());
}

Result<void> Node::begin() {
  const std::string hint = options_.local ? "lo" : model_.architecture.network.interface;
  Result<std::vector<std::string>> addresses = comm::addresses_of_node(hint);
  if (!addresses) return addresses.error();
  Result<comm::Listening> listening = comm::listen_at(*addresses);
  if (!listening) return listening.error();
  listening_ = std::move(*listening);
  Result<comm::Offer> offer = comm::make_offer(os::node_name(), listening_.port, *addresses);
  if (!offer) return offer.error();
  Result<comm::Credential> credential = comm::Credential::from_text(offer->credential);
  if (!credential) return credential.error();
  credential_.emplace(*credential);
  if (options_.local) {
    const std::string bytes = comm::bytes_of(*offer, true);
    const bool told =
        ::write(os::kReportFd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
    if (!told) return Error{Status::ERROR_SYSTEM, "who has started it does not listen"};
    ::close(os::kReportFd);
    return {};
  }
  Result<OwnCard> card = OwnCard::take(folder_, model_.architecture.staging.nodes, options_.number);
  if (!card) return card.error();
  card_.emplace(std::move(*card));
  const std::string why = card_->publish(*offer);
  if (!why.empty()) return Error{Status::ERROR_SYSTEM, why};
  say("node " + std::to_string(card_->number()) + " of " +
      std::to_string(model_.architecture.staging.nodes) + " for " + options_.config +
      " waits for the simulation at " + joined(*addresses, ", ") + ", port " +
      std::to_string(listening_.port));
  return {};
}

int Node::run() {
  const Result<void> begun = begin();
  if (!begun) {
    say(begun.error().message);
    return 2;
  }
  while (!is_over()) {
    accept_some();
    take_away_ended();
  }
  if (!served_.empty()) {  // their threads wait, for memory maybe
    card_.reset();
    say("ended by a signal; what has come is stored, what comes is not taken");
    std::_Exit(1);
  }
  if (!has_served_) {
    say("ended, and served nobody");
    return 0;
  }
  // Others may serve nobody, and have been stopped while there was a run: they see by this that it is over.
  if (card_ && card_->number() == 0) remove_cards(folder_);
  say(has_lost_ ? "the run is over; not all is stored, see above"
                : "the run is over, all is stored");
  return has_lost_ ? 1 : 0;
}

void Node::accept_some() {
  std::vector<pollfd> waiting;
  for (const os::UniqueFd& each : listening_.sockets) waiting.push_back({each.get(), POLLIN, 0});
  poll(waiting.data(), waiting.size(), kLookMs);
  for (const pollfd& each : waiting) {
    if (!each.revents) continue;
    os::UniqueFd socket(accept4(each.fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) continue;
    Served& served = served_.emplace_back();
    served.thread = std::jthread([this, &served, own = std::move(socket)]() mutable {
      serve(std::move(own));
      served.is_over = true;
    });
  }
}

void Node::take_away_ended() {
  for (auto each = served_.begin(); each != served_.end();)
    each = each->is_over ? served_.erase(each) : std::next(each);
}

// A staging node without a share goes when the first one has. The first one, which tells shares, has one unless its servers
// went elsewhere.
bool Node::first_is_gone() {
  if (options_.local || card_->number() == 0) return false;
  if (!card_of(folder_, 0)) return has_seen_first_;  // it takes its card along
  has_seen_first_ = true;
  return has_ended(folder_, 0);
}

bool Node::is_over() {
  const std::lock_guard lock(mutex_);
  const std::int64_t now_ns = os::now_ns();
  if (signals > 0 && (served_.empty() || signals > 1)) return true;
  if (!served_.empty()) idle_since_ns_ = 0;
  if (!served_.empty()) return false;
  if (idle_since_ns_ == 0) idle_since_ns_ = now_ns;
  const bool was_long = now_ns - idle_since_ns_ > kLinger;
  if (!options_.local && card_->is_gone()) return true;
  const bool first_has_gone = was_long && first_is_gone();
  if (!has_served_ && has_planned_) return now_ns - idle_since_ns_ > kRegister + patience_ns();
  if (!has_served_) return first_has_gone;
  const bool all_came = std::all_of(waiting_.begin(), waiting_.end(),
                                    [](const auto& each) { return each.second.empty(); });
  return was_long && (all_came || now_ns - idle_since_ns_ > patience_ns());
}

void Node::serve(os::UniqueFd socket) {
  Result<std::unique_ptr<comm::ByteStream>> stream =
      comm::ByteStream::accept(std::move(socket), *credential_, kHandshake);
  if (!stream) return say("a connection was refused: " + stream.error().message);
  Conversation conversation(std::move(*stream));
  Frame hello;
  if (!conversation.receive(&hello, kHandshake) || hello.kind != FrameKind::hello)
    return say("a connection was refused: it did not say who it is");
  try {
    if (json::parse(hello.text).value("wants", "") == "plan")
      answer_plan(conversation, hello);
    else
      serve(conversation, hello);
  } catch (const json::exception& e) {
    say(std::string("a connection was refused: it said what makes no sense: ") + e.what());
  }
}

void Node::answer_plan(Conversation& conversation, const Frame& hello) {
  const json said = json::parse(hello.text);
  const Registry::Answer answer =
      registry_.ask(said.at("run"), said.at("all"), said.at("own").get<RankList>(),
                    model_.architecture.staging.nodes, std::min(kRegister, timeout_ns() / 4 * 3));
  has_planned_ = true;
  conversation.send(FrameKind::answer, json{{"node", answer.node}, {"ranks", answer.ranks}}.dump(),
                    kHandshake);
}

void Node::serve(Conversation& conversation, const Frame& hello) {
  const json said = json::parse(hello.text);
  const std::optional<Share> share = share_in(said.at("share").dump());
  const RankList own = said.at("own");
  std::string why;
  if (!share) why = "its share makes no sense";
  if (said.value("xml", "") != model_.source_text)
    why = "the XML of the staging node, " + options_.config +
          ", is another one than the simulation's";
  if (!why.empty()) {
    say(conversation.stream().peer() + " was refused: " + why);
    conversation.send(FrameKind::answer, refusal(why), kHandshake);
    return;
  }
  const std::string session = session_of(*share);
  {
    const std::lock_guard lock(mutex_);
    has_served_ = true;
    RankList& waiting = waiting_.try_emplace(session, share->ranks).first->second;
    std::erase_if(waiting, [&](std::int32_t each) {
      return std::find(own.begin(), own.end(), each) != own.end();
    });
  }
  serve(conversation, source_of(*share, own), said.value("node", "?"));
}

std::shared_ptr<Source> Node::source_of(const Share& share, const RankList& own) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Source>& source = sources_[session_of(share) + "/" + std::to_string(own.front())];
  if (!source)
    source = std::make_shared<Source>(share, own, options_.config, patience_ns(),
                                      model_.architecture.staging.keep_until);
  return source;
}

void Node::forget(const std::shared_ptr<Source>& source) {
  const std::lock_guard lock(mutex_);
  std::erase_if(sources_, [&](const auto& each) { return each.second == source; });
}

void Node::serve(Conversation& conversation, const std::shared_ptr<Source>& source,
                 const std::string& from) {
  source->take_over(conversation);
  const bool plain = model_.architecture.network.trust == model::Trust::job;
  const Result<void> opened = source->open();
  conversation.send(
      FrameKind::answer,
      opened ? json{{"plain", plain}, {"ended", source->ended()}, {"products", source->products()}}
                   .dump()
             : refusal(opened.error().message),
      kHandshake);
  if (!opened) {
    source->let_go();
    return lose(source, from + ": no server can be started for it: " + opened.error().message);
  }
  conversation.stream().settle(plain);
  say("node " + from + " of the simulation sends to this one" +
      (plain ? ", plain, as trust=\"job\" says" : ""));
  const Source::End end = source->serve();
  if (end == Source::End::good) return forget(source);
  if (end != Source::End::cut_off) return lose(source, from + ": " + source->why());
  say(from + " is cut off: " + source->why());
  if (source->is_left_for(patience_ns() / 2))
    lose(source, from + " does not come back: its ranks count as dead here");
}

void Node::lose(const std::shared_ptr<Source>& source, const std::string& why) {
  say(why);
  forget(source);
  const std::lock_guard lock(mutex_);
  has_lost_ = true;
}

}  // namespace leat::staging

// SPDX-License-Identifier: Apache-2.0
#include "server/hosts/way.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "lib/base/text.hpp"
#include "lib/os/clock.hpp"
#include "server/hosts/frames.hpp"

namespace leat::hosts {
namespace {

using nlohmann::json;

constexpr std::int64_t kHandshake = 5 * kSecond, kLookAtWay = kSecond / 20;
// More than the host takes to say that its program takes too long.
constexpr std::int64_t kOnTheWay = 3 * kSecond;
constexpr std::size_t kMostNotes = 16;
constexpr const char* kGone = "has gone";
constexpr std::size_t kAlignment = 64;

os::UniqueFd closed_on_exec(int descriptor) {
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  return os::UniqueFd(descriptor);
}

std::int64_t ns_of(const json& told, const char* key) {
  return static_cast<std::int64_t>(told.value(key, 0.0) * 1e9);
}

bool is_said(const std::string& kind) {
  static const char* const kKinds[] = {"results", "log",     "set",   "signal",
                                       "reduce",  "contact", "place", "answer"};
  return std::find(std::begin(kKinds), std::end(kKinds), kind) != std::end(kKinds);
}

bool is_asked(const std::string& kind) {
  return kind == "reduce" || kind == "contact" || kind == "place";
}

}  // namespace

int Way::run() {
  Frame first;
  if (receive_frame(kWorkerSocket, &first, kForEver) != FrameStatus::frame ||
      !member_of(first.head, "host").is_object())
    return 1;
  Result<comm::Credential> credential =
      comm::Credential::from_text(text_in(first.head["host"], "credential"));
  if (!credential) {
    leat::send_frame(kWorkerSocket, {{{"cannot", credential.error().message}}, ""}, kForEver);
    return 1;
  }
  Way way(std::move(first.head), *credential);
  way.say(json::object());
  way.go_on();
  return 0;
}

Way::Way(json setup, comm::Credential credential)
    : setup_(std::move(setup)),
      credential_(std::move(credential)),
      host_(text_in(setup_["host"], "name")),
      limit_ns_(ns_of(setup_["host"], "seconds") + kOnTheWay),
      patience_ns_(ns_of(setup_["host"], "patience")),
      files_(os::UniqueFd(open(text_in(setup_, "segment").c_str(), O_RDONLY | O_CLOEXEC)),
             closed_on_exec(kWorkerConstants)),
      outputs_(closed_on_exec(kWorkerOutputs), setup_.value("memory", std::uint64_t{0})),
      most_bytes_(setup_.value("memory", std::uint64_t{0})) {
  fcntl(kWorkerSocket, F_SETFD, FD_CLOEXEC);
  for (std::size_t i = 0; i < setup_["host"].value("sockets", std::size_t{0}); ++i)
    sockets_.push_back(kWorkerSockets + static_cast<int>(i));
  const int seconds = 5;
  for (const int each : sockets_)
    setsockopt(each, IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, sizeof seconds);
  setup_["host"] = {{"version", kHostVersion}, {"seconds", setup_["host"].value("seconds", 0.0)}};
  setup_["segment"] = "/dev/null";  // all arrays are in the orders
  setup_["resumed"] = false;        // no matter to the program, which goes on
}

// Until leatd has ended.
void Way::go_on() {
  while (true) {
    if (!stream_)
      accept_one();
    else if (stream_->has_more_within(0))
      hear_between_turns();
    if (!os::is_readable_within(kWorkerSocket, kLookAtWay)) continue;
    Frame order;
    if (leat::receive_frame(kWorkerSocket, &order, kForEver) != FrameStatus::frame) break;
    if (text_in(order.head, "kind") == "turn") take_turn(order);
  }
  if (stream_ && is_ready_) send_frame(*stream_, {{{"kind", "over"}}, ""}, kHandshake);
}

void Way::say(json head) {
  leat::send_frame(kWorkerSocket, {std::move(head), ""}, os::now_ns() + limit_ns_);
}

// leatd listens while there is a turn.
void Way::note(const char* level, const std::string& text) {
  if (notes_.size() < kMostNotes)
    notes_.push_back({{"kind", "log"}, {"level", level}, {"text", "host " + host_ + " " + text}});
}

// Those that come and say nothing do not get here: who is of the run speaks first.
void Way::accept_one() {
  for (const int each : sockets_) {
    os::UniqueFd socket(accept4(each, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket || !os::is_readable_within(socket.get(), kLookAtWay)) continue;
    auto stream = comm::ByteStream::accept(std::move(socket), credential_, kHandshake);
    if (!stream) {
      const std::string& why = stream.error().message;
      if (why.find("credential") != std::string::npos)
        note("warning", "is not who has connected: " + why);
      continue;
    }
    (*stream)->settle(false);
    return introduce(std::move(*stream));
  }
}

void Way::introduce(std::unique_ptr<comm::ByteStream> stream) {
  if (!send_frame(*stream, {setup_, ""}, kHandshake)) return;
  stream_ = std::move(stream);
  is_ready_ = false;
}

// It says that its program has started, or why not; nothing else comes between turns.
void Way::hear_between_turns() {
  Frame said;
  if (receive_frame(*stream_, &said, 0, kHandshake) != FrameStatus::frame)
    return lose(stream_->why_broken().empty() ? "says what makes no sense" : kGone);
  if (const std::string why = text_in(said.head, "cannot"); !why.empty() || is_ready_)
    return lose(why.empty() ? "says what makes no sense" : "cannot run it: " + why);
  is_ready_ = true;
  was_in_vain_ = false;
  note("info",
       "has it now, at " + stream_->peer() +
           (missed_ > 0 ? "; until then " + counted(missed_, "iteration") + " went by" : ""));
  missed_ = 0;
}

void Way::lose(const std::string& why) {
  if (is_ready_ || why != kGone)
    note("warning", why + "; what comes now goes by without it, until `leat graph join`");
  stream_.reset();
  is_ready_ = false;
}

bool Way::await_host(std::int64_t deadline_ns) {
  while (!is_ready_ && os::now_ns() < deadline_ns) {
    if (os::stream_has_ended(kWorkerSocket)) return false;
    if (!stream_)
      accept_one();
    else if (stream_->has_more_within(kLookAtWay))
      hear_between_turns();
    if (!stream_) os::sleep_ns(kLookAtWay);
  }
  return is_ready_;
}

// All or nothing: what came of a turn that was missed is not handed over.
void Way::take_turn(const Frame& order) {
  const std::int64_t now_ns = os::now_ns();
  std::vector<std::uint64_t> released;
  for (const json& each : member_of(order.head, "released"))
    if (each.is_number_unsigned()) released.push_back(each);
  outputs_.release(released);
  failed_.clear();
  whole_.clear();
  if (stream_ && stream_->has_more_within(0)) hear_between_turns();
  std::string why;
  if (!is_ready_ && !(!was_in_vain_ && await_host(now_ns + patience_ns_))) {
    was_in_vain_ = true;
    why = "is not there";
  } else {
    why = why_missed(order, now_ns + limit_ns_);
  }
  files_.end_turn();
  outputs_.give_back();
  for (json& each : notes_) say(std::move(each));
  notes_.clear();
  if (why.empty()) return say({{"kind", "answer"}, {"error", failed_}, {"whole", whole_}});
  ++missed_;
  say({{"kind", "answer"}, {"missed", "host " + host_ + " " + why}});
}

// Where an array lies anywhere else it is copied behind the order.
Result<Frame> Way::with_data(const Frame& order) {
  Frame whole{order.head, ""};
  for (json& port : whole.head["ports"]) {
    for (json& part : port["parts"]) {
      const std::string memory = text_in(part, "memory");
      const auto offset = part.at("offset").get<std::uint64_t>();
      const auto bytes = part.at("bytes").get<std::uint64_t>();
      Result<const void*> data = static_cast<const void*>(order.data.data() + offset);
      if (bytes > 0 && memory != "order") data = files_.at(memory, offset, bytes);
      if (!data) return data.error();
      whole.data.resize(round_up(whole.data.size(), kAlignment));
      part["memory"] = "order";
      part["offset"] = whole.data.size();
      if (bytes > 0) whole.data.append(static_cast<const char*>(*data), bytes);
    }
  }
  return whole;
}

// "has gone"; "": it has had its turn.
std::string Way::why_missed(const Frame& order, std::int64_t deadline_ns) {
  const auto left_ns = [&] { return std::max<std::int64_t>(deadline_ns - os::now_ns(), 1); };
  Result<Frame> whole = with_data(order);
  if (!whole) return "cannot have it: " + whole.error().message;
  say({{"kind", "copied"}});
  std::string why = kGone;
  bool is_over = !send_frame(*stream_, *whole, left_ns());
  whole = Frame{};
  while (!is_over) {
    Frame said;
    const FrameStatus status = receive_frame(*stream_, &said, most_bytes_, left_ns());
    if (status == FrameStatus::ended || os::now_ns() >= deadline_ns) break;
    why = status == FrameStatus::malformed || !is_said(text_in(said.head, "kind"))
              ? "says what makes no sense"
              : pass_on(std::move(said), deadline_ns, &is_over);
    if (!why.empty()) break;
    if (is_over) return "";
    why = kGone;
  }
  if (os::now_ns() >= deadline_ns) why = "has not answered within the time of a turn";
  lose(why);
  return why;
}

// To leatd, and its word back where it is asked. What is wrong; "" for nothing.
std::string Way::pass_on(Frame frame, std::int64_t deadline_ns, bool* is_over) {
  const std::string kind = text_in(frame.head, "kind");
  *is_over = kind == "answer";
  if (*is_over) {
    if (failed_.empty()) failed_ = text_in(frame.head, "error");
    whole_ = text_in(frame.head, "whole");
    return text_in(frame.head, "missed").empty() ? "" : "has ended its program by itself";
  }
  if (kind == "results") {
    if (std::string why = take_arrays(&frame); !why.empty()) {
      if (failed_.empty()) failed_ = std::move(why);
      return "";
    }
  }
  if (!leat::send_frame(kWorkerSocket, frame, deadline_ns)) return "floods";
  if (!is_asked(kind)) return "";
  Frame reply;
  if (leat::receive_frame(kWorkerSocket, &reply, deadline_ns) != FrameStatus::frame ||
      !send_frame(*stream_, reply, std::max<std::int64_t>(deadline_ns - os::now_ns(), 1)))
    return kGone;
  return "";
}

// Into the memory of the module here, as if it had put them there. "" or why not.
std::string Way::take_arrays(Frame* results) {
  if (!member_of(results->head, "arrays").is_array()) return "";
  for (json& told : results->head["arrays"]) {
    const auto offset = integer_of(member_of(told, "offset")).value_or(-1);
    const auto bytes = integer_of(member_of(told, "bytes")).value_or(-1);
    const auto there = static_cast<std::int64_t>(results->data.size());
    if (offset < 0 || bytes < 0 || offset > there || bytes > there - offset)
      return "an array of host " + host_ + " is not where it says";
    const Result<void*> place = outputs_.start(static_cast<std::uint64_t>(bytes));
    if (!place) return "port \"" + text_in(told, "name") + "\": " + place.error().message;
    std::memcpy(*place, results->data.data() + offset, static_cast<std::size_t>(bytes));
    told["offset"] = *outputs_.finish(*place, static_cast<std::uint64_t>(bytes));
  }
  results->data.clear();
  return "";
}

}  // namespace leat::hosts

// SPDX-License-Identifier: Apache-2.0
#include "server/hosts/joined_module.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "lib/os/clock.hpp"
#include "lib/os/cores.hpp"
#include "lib/os/process.hpp"
#include "server/hosts/frames.hpp"
#include "server/workers/python/script_files.hpp"

namespace leat::hosts {
namespace {

using nlohmann::json;

constexpr std::int64_t kLookAtProgram = kSecond / 5;
constexpr std::uint64_t kMostOfTurn = std::uint64_t{1} << 36;

}  // namespace

JoinedModule::JoinedModule(const json& setup) : name_(text_in(setup["module"], "name")) {
  thread_ = std::jthread([this] { run(); });
}

JoinedModule::~JoinedModule() {
  const std::lock_guard lock(mutex_);
  is_leaving_ = true;
  if (stream_) stream_->give_up();
  changed_.notify_all();
}

void JoinedModule::say(const std::string& text) const {
  std::fprintf(stderr, "leat graph join: module \"%s\" %s\n", name_.c_str(), text.c_str());
}

void JoinedModule::go_on(std::unique_ptr<comm::ByteStream> stream, const json& setup) {
  const std::lock_guard lock(mutex_);
  next_ = std::move(stream);
  setup_ = setup;
  is_over_ = has_failed_ = false;
  changed_.notify_all();
}

bool JoinedModule::is_over() const {
  const std::lock_guard lock(mutex_);
  return is_over_ && !next_;
}

bool JoinedModule::is_joined() const {
  const std::lock_guard lock(mutex_);
  return stream_ || next_;
}

bool JoinedModule::has_failed() const {
  const std::lock_guard lock(mutex_);
  return has_failed_;
}

bool JoinedModule::wants(const json& setup) const {
  const std::lock_guard lock(mutex_);
  return !is_over_ || may_come_again_ || setup != setup_;
}

void JoinedModule::end(bool by_node, bool failed, const std::string& text) {
  say(text);
  process_.finish();
  const std::lock_guard lock(mutex_);
  is_over_ = true;
  may_come_again_ = by_node;
  has_failed_ = failed;
}

void JoinedModule::run() {
  while (true) {
    std::shared_ptr<comm::ByteStream> stream;
    {
      std::unique_lock lock(mutex_);
      stream_.reset();
      changed_.wait(lock, [this] { return is_leaving_ || next_; });
      if (is_leaving_) break;
      stream = stream_ = std::move(next_);
    }
    serve(*stream);
  }
  process_.finish();
}

// Its program, as the node describes it. A change of that is another program.
bool JoinedModule::prepare(const json& setup, std::string* why) {
  limit_ns_ = static_cast<std::int64_t>(setup["host"].value("seconds", 60.0) * 1e9);
  if (process_.runs() && plan_.setup && *plan_.setup == setup) return true;
  process_.finish();
  auto file = os::MappedFile::make("leat-module", setup.value("memory", std::uint64_t{0}));
  if (!file) {
    *why = file.error().message;
    return false;
  }
  outputs_ = std::move(*file);
  sent_.clear();
  plan_.command = member_of(setup["module"], "run").get<std::vector<std::string>>();
  if (const std::string found = os::find_program(plan_.command[0]); !found.empty())
    plan_.command[0] = found;
  plan_.setup = std::make_shared<json>(setup);
  plan_.cores = os::allowed_cpus().count();
  plan_.constants_fd = plan_.outputs_fd = outputs_->descriptor();
  plan_.variables = {"LEAT_MODULE=" + name_, server::variable_of_python(), "MPLBACKEND="};
  plan_.not_started = " is no module: it has never called leat_wait()";
  *why = process_.start().why;
  if (why->empty()) say("has started: " + plan_.command[0]);
  return why->empty();
}

void JoinedModule::serve(comm::ByteStream& stream) {
  json setup;
  {
    const std::lock_guard lock(mutex_);
    setup = setup_;
  }
  std::string why;
  if (!prepare(setup, &why)) {
    send_frame(stream, {{{"cannot", why}}, ""}, kSecond);
    return end(false, true, "cannot run here: " + why);
  }
  bool is_there = send_frame(stream, {json::object(), ""}, kForEver);
  while (is_there && is_still_there(stream)) {
    Frame order;
    is_there = receive_frame(stream, &order, kMostOfTurn, kForEver) == FrameStatus::frame;
    const std::string kind = is_there ? text_in(order.head, "kind") : "";
    if (kind == "over")
      return end(true, false, "has no more turns: the run is over, or it was removed");
    if (kind == "turn") take_turn(stream, std::move(order));
    const std::lock_guard lock(mutex_);
    if (is_over_ || is_leaving_) return;
  }
  const std::lock_guard lock(mutex_);
  if (!is_over_ && !is_leaving_) say("has lost its connection: " + stream.why_broken());
}

// Waits for an order. False: its program has ended of its own will meanwhile.
bool JoinedModule::is_still_there(comm::ByteStream& stream) {
  while (!stream.has_more_within(kLookAtProgram)) {
    if (stream.is_given_up()) return true;
    if (!process_.has_ended()) continue;
    const std::string how = process_.end();
    if (how.starts_with("ended with status 0")) {
      end(false, false, "has ended by itself: it has no more turns");
      return false;
    }
    say(how + "; it is started again");
    if (const std::string why = process_.start().why; !why.empty()) {
      end(false, true, "cannot run here: " + why);
      return false;
    }
  }
  return true;
}

void JoinedModule::take_turn(comm::ByteStream& stream, Frame order) {
  const std::int64_t deadline_ns = os::now_ns() + limit_ns_;
  order.head["released"] = std::exchange(sent_, {});
  std::string error;
  if (process_.send(order, deadline_ns))
    error = converse(stream, deadline_ns);
  else
    error = "ended";
  if (error.empty()) return;
  if (error == "ended") process_.await_end();
  const bool is_late = os::now_ns() >= deadline_ns, was_stopped = process_.was_stopped();
  const std::string how = process_.end();
  if (how.starts_with("ended with status 0")) {
    end_turn(stream, "", true);
    return end(false, false, "has ended by itself: it has no more turns");
  }
  error = is_late            ? "it took longer than its time, and was ended"
          : was_stopped      ? "its process was stopped, and was ended"
          : error == "ended" ? "its process " + how
                             : error;
  say(error + "; it is started again");
  end_turn(stream, error, false);
  if (const std::string why = process_.start().why; !why.empty())
    end(false, true, "cannot run here: " + why);
}

void JoinedModule::end_turn(comm::ByteStream& stream, const std::string& error, bool has_ended) {
  json answer{{"kind", "answer"}, {"error", error}};
  if (has_ended) answer["missed"] = "its program there has ended";
  send_frame(stream, {std::move(answer), ""}, kSecond);
}

// "" after its answer. When the connection has broken it ends its turn for itself.
std::string JoinedModule::converse(comm::ByteStream& stream, std::int64_t deadline_ns) {
  while (true) {
    Frame said;
    const FrameStatus status = process_.receive(&said, deadline_ns);
    if (status == FrameStatus::malformed) return "its process says what makes no sense";
    if (status != FrameStatus::frame || os::now_ns() >= deadline_ns) return "ended";
    const std::string kind = text_in(said.head, "kind");
    const bool ends = member_of(said.head, "ends") == true;
    const bool is_asked = kind == "reduce" || kind == "contact" || kind == "place";
    const bool is_sent = pass_on(stream, std::move(said));
    if (kind == "answer" && ends) {  // it has said why
      process_.await_end();
      process_.end();
      if (process_.start().why.empty()) return "";
      end(false, true, "cannot run here any more");
    }
    if (kind == "answer") return "";
    if (!is_asked) continue;
    Frame reply;
    if (!is_sent || receive_frame(stream, &reply, kMostOfTurn, limit_ns_) != FrameStatus::frame)
      return "the connection has broken while it waits for an answer of the run";
    if (!process_.send(reply, deadline_ns)) return "ended";
  }
}

// What it has put goes along.
bool JoinedModule::pass_on(comm::ByteStream& stream, Frame said) {
  if (text_in(said.head, "kind") == "results" && member_of(said.head, "arrays").is_array()) {
    for (json& told : said.head["arrays"]) {
      const auto offset = integer_of(member_of(told, "offset")).value_or(-1);
      const auto bytes = integer_of(member_of(told, "bytes")).value_or(-1);
      if (offset < 0 || bytes < 0) continue;
      const char* const data =
          outputs_->at(static_cast<std::uint64_t>(offset), static_cast<std::uint64_t>(bytes));
      if (!data) continue;
      told["offset"] = said.data.size();
      said.data.append(data, static_cast<std::size_t>(bytes));
      sent_.push_back(static_cast<std::uint64_t>(offset));
    }
  }
  return send_frame(stream, said, limit_ns_);
}

}  // namespace leat::hosts

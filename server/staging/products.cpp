// SPDX-License-Identifier: Apache-2.0
#include "server/staging/products.hpp"

#include "lib/os/clock.hpp"

namespace leat::staging {
namespace {

using client::Call;
using client::Lock;
using nlohmann::json;

constexpr const char* kProductsCall = "leat staging";
constexpr std::int64_t kLookForThrough = 1'000'000, kLookForMemory = 10'000'000;

std::string why_not(Status status, std::uint64_t bytes) {
  const bool is_too_large = status == Status::ERROR_TOO_LARGE || status == Status::ERROR_FULL;
  return is_too_large ? "the buffer of the staging node has no room for " + std::to_string(bytes) +
                            " bytes of products: make <staging buffer=\"...\"/> larger"
                      : std::string("the staging node cannot take them: ") + status_meaning(status);
}

}  // namespace

// They are waited for as blocks are: what the source waits meanwhile is its ranks' waiting.
Status SourceProducts::await_memory(Conversation& conversation, client::Session& session,
                                    const std::string& head, std::uint64_t bytes, void** data) {
  Lock lock(mutex_);
  const Call call{kProductsCall, lock};
  const os::Deadline deadline = os::Deadline::in_ns(timeout_ns_);  // of answers that may never end
  Status status = Status::ERROR_TIMEOUT;
  while (!conversation.stream().is_given_up()) {
    status = session.products().alloc(call, head, bytes, data);
    if (status == Status::DROPPED && deadline.passed()) return Status::ERROR_FULL;
    if (status != Status::DROPPED && status != Status::ERROR_TIMEOUT) break;
    lock.unlock();
    os::sleep_ns(kLookForMemory);
    lock.lock();
  }
  return status;
}

std::optional<json> SourceProducts::take(Conversation& conversation, const std::string& text,
                                         client::Session* session) {
  const std::uint64_t number = json::parse(text).at("number");
  Frame frame;
  if (!conversation.receive(&frame, timeout_ns_) || frame.kind != FrameKind::block)
    return std::nullopt;
  const std::uint64_t bytes = frame.block.bytes;
  void* data = nullptr;
  Status status = session ? Status::OK : Status::ERROR_STATE;
  if (status == Status::OK && number > taken_)
    status = await_memory(conversation, *session, text, bytes, &data);
  const bool came = conversation.receive_data(frame.block, data, timeout_ns_);
  if (data) {
    Lock lock(mutex_);
    const Call call{kProductsCall, lock};
    Place place;
    if (!came) session->products().give_back(data);
    if (came) status = session->products().commit(call, data, &place);
    if (came && status == Status::OK) under_way_.emplace_back(number, place);
  }
  if (!came) return std::nullopt;
  taken_ = std::max(taken_, number);
  json answer = json::object();
  if (status != Status::OK)
    answer["why"] = session ? why_not(status, bytes) : "all ranks of this node have died";
  return answer;
}

std::uint64_t SourceProducts::through(client::Session* session) {
  const std::lock_guard lock(mutex_);
  while (session && !under_way_.empty() &&
         session->products().is_through(under_way_.front().second))
    under_way_.pop_front();
  return under_way_.empty() ? taken_ : under_way_.front().first - 1;
}

json SourceProducts::numbers(client::Session* session) {
  const std::uint64_t all_through = through(session);
  return {{"number", taken_}, {"through", all_through}};
}

void SourceProducts::await_through(Conversation& conversation, client::Session* session) {
  while (session && through(session) < taken_ && !conversation.stream().is_given_up())
    os::sleep_ns(kLookForThrough);
}

}  // namespace leat::staging

// SPDX-License-Identifier: Apache-2.0
#include "client-api/group_calls.hpp"

#include <unistd.h>

#include <array>
#include <cstdlib>

#include "lib/os/clock.hpp"

namespace leat::client {
namespace {

// All call it at about the same time, as they do any other collective call.
constexpr std::int64_t kComeSeconds = 60;
// Reading the XML and starting a server have limits of their own, which are shorter.
constexpr int kStages = 3;
constexpr std::int64_t kPauseNs = 1'000'000;

// More than a name may have, so that all refuse one that is too long.
using SessionText = std::array<char, 128>;

SessionText chosen_session() {
  const char* const chosen = std::getenv("LEAT_SESSION");
  const std::string name = chosen && *chosen ? std::string(chosen)
                                             : "mpi-" + std::to_string(getpid()) + "-" +
                                                   std::to_string(platform::now_ns());
  SessionText text{};
  name.copy(text.data(), text.size() - 1);
  return text;
}

// As bytes.
struct Outcome {
  std::int32_t status = 0;
  char message[4000] = "";
};

}  // namespace

std::int64_t come_limit_ns() {
  const char* const text = std::getenv("LEAT_SPLIT_TIMEOUT");
  const long long seconds = text ? std::atoll(text) : 0;
  return (seconds > 0 ? seconds : kComeSeconds) * 1'000'000'000;
}

std::int64_t stage_limit_ns() { return kStages * come_limit_ns(); }

// Sleeps in between: a rank that is stopped, or never comes, costs the others no core.
Result<void> await_all(const leat_group& group, std::int64_t limit_ns, const std::string& what) {
  const platform::Deadline deadline = platform::Deadline::in_ns(limit_ns);
  for (std::int32_t begin = 1; group.arrive(group.context, begin) == 0; begin = 0) {
    if (deadline.passed()) {
      return Error{Status::ERROR_TIMEOUT,
                   what + " within " + std::to_string(limit_ns / 1'000'000'000) +
                       " s; the communicator cannot be used any more: end the job"};
    }
    platform::sleep_ns(kPauseNs);
  }
  return {};
}

std::int32_t rank_with_worst(const leat_group& group, Status own) {
  std::int64_t worst = std::int64_t{static_cast<int>(own)} * (std::int64_t{1} << 32) + group.rank;
  group.least(group.context, &worst);
  return static_cast<std::int32_t>(worst & 0xffffffff);
}

Result<Ranks> ranks_of(const leat_group& group) {
  Ranks ranks;
  ranks.rank = group.rank;
  ranks.size = group.size;
  std::int32_t node_rank = 0, node_size = 1;
  group.node(group.context, &node_rank, &node_size);
  ranks.node_rank = node_rank;
  ranks.node_size = node_size;
  SessionText session = group.rank == 0 ? chosen_session() : SessionText{};
  group.broadcast(group.context, session.data(), static_cast<std::int32_t>(session.size()), 0);
  session.back() = 0;
  ranks.session = session.data();
  return complete_ranks(std::move(ranks));
}

bool agree_on(const leat_group& group, Error* own, bool* speaks) {
  const Result<void> come =
      await_all(group, stage_limit_ns(), "other ranks have not come out of it");
  if (!come) {
    *own = come.error();
    *speaks = true;
    return false;
  }
  const std::int32_t root = rank_with_worst(group, own->status);
  Outcome outcome{static_cast<std::int32_t>(own->status), ""};
  own->message.copy(outcome.message, sizeof outcome.message - 1);
  group.broadcast(group.context, &outcome, sizeof outcome, root);
  *speaks = group.rank == root;
  if (!*speaks) *own = {static_cast<Status>(outcome.status), outcome.message};
  return true;
}

void await_printed(const leat_group& group) {
  std::int64_t nothing = 0;  // that nobody knows before all have come
  group.least(group.context, &nothing);
}

void take_part(const leat_group& group) {
  (void)ranks_of(group);
  Error well{Status::OK, ""};
  bool speaks = false;
  if (agree_on(group, &well, &speaks) && well.status != Status::OK) await_printed(group);
}

}  // namespace leat::client

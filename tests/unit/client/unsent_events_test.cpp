// SPDX-License-Identifier: Apache-2.0
#include "client-api/session/events.hpp"

#include <gtest/gtest.h>

#include <tuple>
#include <utility>
#include <vector>

namespace leat::client {
namespace {

using shm::Event;
using shm::EventKind;

Event event(EventKind kind, std::int64_t iteration, std::uint32_t subject = 0,
            std::uint64_t bytes = 0) {
  Event made{};
  made.kind = static_cast<std::uint32_t>(kind);
  made.iteration = iteration;
  made.subject = subject;
  made.bytes = bytes;
  return made;
}

std::vector<Event> all(UnsentEvents& unsent) {
  std::vector<Event> taken;
  for (; !unsent.empty(); unsent.pop_first()) taken.push_back(unsent.first());
  return taken;
}

TEST(UnsentEvents, ComeInTheOrderInWhichTheyWereKept) {
  UnsentEvents unsent;
  EXPECT_TRUE(unsent.empty());
  const EventKind kinds[] = {EventKind::set_real,      EventKind::drop,
                             EventKind::end_iteration, EventKind::set_real,
                             EventKind::end_iteration, EventKind::finalize};
  for (const EventKind kind : kinds) unsent.store(event(kind, 1));
  std::vector<EventKind> order;
  for (const Event& each : all(unsent)) order.push_back(static_cast<EventKind>(each.kind));
  EXPECT_EQ(order, std::vector<EventKind>(std::begin(kinds), std::end(kinds)));
}

TEST(UnsentEvents, WritesOfOneVariableAndIterationAreOne) {
  UnsentEvents unsent;
  const std::vector<std::pair<std::int64_t, std::uint32_t>> writes = {
      {1, 7}, {1, 8}, {1, 7}, {2, 7}};
  for (const auto& [iteration, variable] : writes)
    unsent.store(event(EventKind::lost, iteration, variable, 100));
  std::vector<std::tuple<std::int64_t, std::uint32_t, std::uint32_t, std::uint64_t>> kept;
  for (const Event& each : all(unsent))
    kept.emplace_back(each.iteration, each.subject, each.block, each.bytes);
  EXPECT_EQ(kept, (decltype(kept){{1, 7, 2, 200}, {1, 8, 1, 100}, {2, 7, 1, 100}}));
}

TEST(UnsentEvents, HoweverLongItLastsNoWriteIsForgottenAndTheLastEndIsKept) {
  UnsentEvents unsent;
  constexpr std::int64_t kIterations = 10'000;
  for (std::int64_t i = 0; i < kIterations; ++i) {
    unsent.store(event(EventKind::set_integer, i, 3));
    for (const std::uint32_t variable : {0u, 1u}) unsent.store(event(EventKind::lost, i, variable));
    unsent.store(event(EventKind::end_iteration, i));
  }
  const std::vector<Event> kept = all(unsent);
  EXPECT_LE(kept.size(), UnsentEvents::kMost + 2);
  std::uint64_t writes = 0;
  std::int64_t last_end = -1, last_value = -1;
  for (const Event& each : kept) {
    const auto kind = static_cast<EventKind>(each.kind);
    if (kind == EventKind::lost) writes += each.block;
    if (kind == EventKind::end_iteration) last_end = each.iteration;
    if (kind == EventKind::set_integer) last_value = each.iteration;
  }
  EXPECT_EQ(writes, 2u * kIterations);
  EXPECT_EQ(last_end, kIterations - 1);
  EXPECT_EQ(last_value, kIterations - 1);
}

}  // namespace
}  // namespace leat::client

// SPDX-License-Identifier: Apache-2.0
// Tracks of ranks, from events that say anything: whatever comes, what is written are whole packets.
#include "server/state/trace/rank_tracks.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>

#include "lib/os/clock.hpp"
#include "lib/os/folder.hpp"
#include "server/driver/executors.hpp"
#include "tests/support/quiet_host.hpp"

namespace leat::server {
namespace {

shm::Event any_event(std::mt19937_64& dice) {
  const auto any = [&dice](std::uint64_t usual) {
    return dice() % 8 == 0 ? dice() : dice() % usual;
  };
  shm::Event event{};
  event.kind = static_cast<std::uint32_t>(any(16));
  event.subject = static_cast<std::uint32_t>(any(7));
  event.block = static_cast<std::uint32_t>(any(2));
  event.iteration = static_cast<std::int64_t>(any(5));
  event.bytes = any(1000);
  event.at_ns = static_cast<std::int64_t>(any(1'000'000));
  event.inside_ns = any(1'000'000);
  return event;
}

TEST(RankTracks, WhateverClientsSayWholePacketsComeOfIt) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("leat-ranks-" + std::to_string(getpid())))
          .string();
  ThreadExecutor executor;
  model::Model model;
  model.variables.resize(3);
  Trace trace(std::make_unique<TraceFile>(path, os::open_file_of_user(path, true), false,
                                          std::make_shared<tests::QuietLog>()),
              "run on node", "session", "node", 0);
  trace.start(executor);
  RankTracks ranks(trace, model, 4, false);
  std::mt19937_64 dice(1);
  for (int i = 0; i < 20'000; ++i) {
    const auto client = static_cast<std::uint32_t>(dice() % 4);
    const auto now_ns = static_cast<std::int64_t>(dice() % 2'000'000);
    if (dice() % 100 == 0) ranks.came(client, static_cast<std::int32_t>(client), now_ns);
    if (dice() % 100 == 0) ranks.gone(client, static_cast<std::int32_t>(client), true, now_ns);
    ranks.said(client, static_cast<std::int32_t>(client), any_event(dice), now_ns);
  }
  trace.finish();
  std::ostringstream all;
  all << std::ifstream(path, std::ios::binary).rdbuf();
  std::filesystem::remove(path);
  EXPECT_GT(all.str().size(), 100'000u);
  EXPECT_EQ(perfetto::whole_packets(all.str()), all.str().size());
}

}  // namespace
}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// A rank whose own memory goes bad: attaches as the library does, writes some good iterations, then
// maps the segment once more and overwrites what is the client's to write (counters, event slots,
// its own words) with random bytes at random moments, between writes that go on.
// hostile_client <config> <session> <rank> <size> <seed> <milliseconds>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "client-api/api/leat.h"
#include "lib/shm/segment.hpp"

namespace {

using namespace leat;
using Random = std::mt19937_64;

std::string segment_of(const std::string& session) {
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    const std::string name = entry.path().filename();
    if (name.find(session) != std::string::npos) return name;
  }
  return "";
}

shm::Event any_event(Random& random) {
  shm::Event event;
  for (std::size_t i = 0; i < sizeof event / 8; ++i) {
    const std::uint64_t word = random() >> (random() % 64);
    std::memcpy(reinterpret_cast<char*>(&event) + 8 * i, &word, sizeof word);
  }
  event.kind = random() % 64 ? random() % 9 : event.kind;  // seldom finalize, which would end it
  return event;
}

void overwrite(const shm::Segment& segment, const shm::ClientArea& area, Random& random) {
  const std::uint32_t slots = segment.header().event_slots;
  switch (random() % 8) {
    case 0:
      area.client->iteration.store(static_cast<std::int64_t>(random()));
      return;
    case 1:
      area.client->release_head.store(random());
      return;
    case 2:
      area.client->waiting.store(static_cast<std::uint32_t>(random()));
      return;
    case 3:
      if (random() % 64 == 0) area.client->event_tail.store(random());
      return;
    default:
      const std::uint64_t tail = area.client->event_tail.load();
      for (std::uint32_t i = 0; i < 16; ++i) area.events[(tail + i) % slots] = any_event(random);
      area.client->event_tail.store(tail + random() % 16);
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 7) return 2;
  const int rank = std::atoi(words[3]), size = std::atoi(words[4]);
  const leat_ranks ranks{sizeof ranks, rank, size, rank, size, words[2]};
  if (leat_init_ranks(words[1], &ranks) != LEAT_OK) {
    std::fprintf(stderr, "hostile: %s\n", leat_last_error());
    return 1;
  }
  const auto segment = shm::Segment::attach(segment_of(words[2]));
  if (!segment) return 3;
  const shm::ClientArea area = segment->client(static_cast<std::uint32_t>(rank));
  Random random(std::strtoull(words[5], nullptr, 10));
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(std::atoi(words[6]));
  std::vector<std::int32_t> row(5, rank);
  leat_write("a", row.data());
  leat_end_iteration();
  while (std::chrono::steady_clock::now() < end) {
    overwrite(*segment, area, random);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
  }
  _exit(0);  // as a process dies whose memory is corrupt
}

// SPDX-License-Identifier: Apache-2.0
// Clients that write anything into the memory that they own, between the steps of the server: ring,
// counters, headers, data. The input is a list of such acts; half of them are nearly right, as
// those go deepest.
#include <array>

#include "tests/fuzz/driven_engine.hpp"
#include "tests/fuzz/target.hpp"

namespace {

using namespace leat;
using server::DrivenEngine;

class HostileClients {
 public:
  HostileClients(const std::uint8_t* data, std::size_t size, model::OverflowPolicy overflow_policy)
      : input_(data, size), server_(overflow_policy) {}

  void run() {
    constexpr int kMostActs = 400;
    for (int i = 0; i < kMostActs && !input_.empty(); ++i) act();
    server_.drain();
  }

 private:
  struct Client {
    std::uint64_t releases_taken = 0;
    std::array<shm::Region, 8> leased{};
    std::size_t leases = 0;
    std::int64_t iteration = 0;
  };

  void act() {
    // Not another kind of act below: inputs that are kept would say something else.
    const std::uint8_t first = input_.byte();
    const std::uint32_t who = first % DrivenEngine::kClients;
    if (first >= kPatches && first < kPatches + 16) return push_patch(who);
    if (first >= kProducts && first < kProducts + 8) return push_products(who);
    switch (input_.below(12)) {
      case 0:
      case 1:
        return push(who, any_event(who));
      case 2:
      case 3:
        return push_block(who);
      case 4:
        return push(who, lease_request());
      case 5:
        return end_iteration(who);
      case 6:
        return scribble(who);
      case 7:
        return set_words(who);
      case 8:
        return steer();
      case 9:
        if (input_.below(8) == 0) return server_.hang_up(who);
        if (input_.below(4) == 0) return die_and_be_followed();
        return server_.end_in_parameter_log(input_.number());
      default:
        server_.step();
        take_releases(who);
    }
  }

  static shm::Event event_of(shm::EventKind kind) {
    shm::Event event{};
    event.kind = static_cast<std::uint32_t>(kind);
    return event;
  }

  // Mostly as the library does it; else any number comes with any_event.
  void end_iteration(std::uint32_t who) {
    shm::Event event = event_of(shm::EventKind::end_iteration);
    event.iteration = clients_[who].iteration++;
    push(who, event);
  }

  // The server dies, and another one makes what it can of the same memory. Clients come back with
  // any word on what they hold, or do not.
  void die_and_be_followed() {
    server_.die_and_be_followed();
    for (std::uint32_t who = 0; who < DrivenEngine::kClients; ++who) {
      if (input_.below(4) == 0) continue;
      server_.come_back(who, leased(who).offset, offset(who));
    }
  }

  // As the library does it, but for the look at the head: what was pushed may be overwritten.
  void push(std::uint32_t who, const shm::Event& event) {
    const shm::ClientArea area = server_.client(who);
    const std::uint64_t tail = area.client->event_tail.load();
    area.events[tail % server_.segment().header().event_slots] = event;
    area.client->event_tail.store(tail + 1);
  }

  void take_releases(std::uint32_t who) {
    const shm::ClientArea area = server_.client(who);
    Client& client = clients_[who];
    const std::uint64_t tail = area.server->release_tail.load();
    while (client.releases_taken < tail) {
      const shm::Release release =
          area.releases[client.releases_taken++ % server_.segment().header().release_slots];
      if (release.kind != static_cast<std::uint32_t>(shm::ReleaseKind::lease)) continue;
      client.leased[client.leases++ % client.leased.size()] = {release.offset, release.bytes};
    }
    area.client->release_head.store(client.releases_taken);
  }

  shm::Region leased(std::uint32_t who) {
    return clients_[who]
        .leased[input_.below(static_cast<std::uint32_t>(clients_[who].leased.size()))];
  }

  std::uint64_t offset(std::uint32_t who) {
    const shm::Region region = leased(who);
    if (input_.below(4) != 0) return region.offset + 64 * input_.below(64);
    return region.offset + static_cast<std::uint64_t>(input_.number());
  }

  shm::Event any_event(std::uint32_t who) {
    shm::Event event{};
    event.kind = input_.below(13);
    event.flags = input_.below(6);
    event.subject = input_.below(6);
    event.block = input_.below(3);
    event.iteration = input_.number();
    event.offset = offset(who);
    event.bytes = static_cast<std::uint64_t>(input_.number());
    event.token = static_cast<std::uint64_t>(input_.number());
    return event;
  }

  shm::Event lease_request() {
    shm::Event event = event_of(shm::EventKind::lease_request);
    event.flags = input_.below(4);
    event.bytes = static_cast<std::uint64_t>(input_.number());
    return event;
  }

  void push_block(std::uint32_t who) {
    shm::Event event = block_event(who, input_.below(kFields));
    shm::BlockHeader header = header_of(event);
    header.place = static_cast<std::uint16_t>(input_.below(2));
    hand_over(who, event, header);
  }

  // Of any level, now and then none, or of what has no levels.
  void push_patch(std::uint32_t who) {
    const bool of_any = input_.below(8) == 0;
    const std::uint32_t subject = of_any ? input_.below(kVariables) : kFields + input_.below(2);
    shm::Event event = block_event(who, subject);
    shm::BlockHeader header = header_of(event);
    header.place =
        input_.below(8) == 0 ? input_.byte() : static_cast<std::uint16_t>(shm::Place::in_level);
    header.level = static_cast<std::uint16_t>(input_.number());
    hand_over(who, event, header);
  }

  // Good ones, ones that say what is not so, and any text.
  void push_products(std::uint32_t who) {
    const char* const heads[] = {
        R"({"source":"s@2","iteration":1,"by_plugin":true,"arrays":[{"name":"a","type":"uint8","dimensions":["x"],"extents":[4],"offset":0,"bytes":4}]})",
        R"({"source":"s","iteration":99,"arrays":[{"name":"a","type":"float64","dimensions":[],"extents":[],"offset":8,"bytes":8}]})",
        R"({"source":"s","iteration":0,"arrays":[{"name":"a","type":"uint8","dimensions":["x"],"extents":[4],"offset":4096,"bytes":4}]})",
        R"({"source":"a/b","iteration":-1,"arrays":[{"name":"","type":"uint8","dimensions":["x","y"],"extents":[4],"offset":-1,"bytes":4}]})"};
    const std::uint32_t which = input_.below(5);
    const std::string head = which < 4 ? heads[which] : input_.text(input_.byte());
    shm::Event event = event_of(shm::EventKind::products);
    event.subject = static_cast<std::uint32_t>(head.size()) + input_.below(2);
    event.iteration = clients_[who].iteration;
    event.offset = offset(who);
    shm::BlockHeader header{};
    header.variable = input_.below(8) == 0 ? input_.byte() : shm::kProducts;
    header.block = event.subject;
    header.iteration = event.iteration;
    header.data_bytes = head.size() + input_.below(32);
    event.bytes = sizeof header + header.data_bytes;
    if (is_writable(event.offset, event.bytes)) {
      std::memcpy(server_.segment().at<char>(event.offset), &header, sizeof header);
      std::memcpy(server_.segment().at<char>(event.offset + sizeof header), head.data(),
                  head.size());
    }
    push(who, event);
  }

  shm::Event block_event(std::uint32_t who, std::uint32_t subject) {
    shm::Event event = event_of(shm::EventKind::block);
    event.subject = subject;
    event.block = input_.below(4);
    event.iteration = clients_[who].iteration;
    event.offset = offset(who);
    return event;
  }

  shm::BlockHeader header_of(const shm::Event& event) {
    shm::BlockHeader header{};
    header.variable = event.subject;
    header.block = event.block;
    header.iteration = event.iteration;
    header.dims = input_.below(8) == 0 ? input_.byte() : kDims[event.subject];
    header.data_bytes = kBytes[event.subject];
    return header;
  }

  void hand_over(std::uint32_t who, shm::Event& event, shm::BlockHeader& header) {
    for (std::uint32_t d = 0; d < kDims[event.subject]; ++d) {
      header.extent[d] = input_.number();
      header.position[d] = input_.number();
      header.data_bytes *= static_cast<std::uint64_t>(header.extent[d]);
    }
    if (input_.below(8) == 0) header.data_bytes = static_cast<std::uint64_t>(input_.number());
    event.bytes = sizeof header + header.data_bytes;
    if (is_writable(event.offset, sizeof header)) {
      std::memcpy(server_.segment().at<char>(event.offset), &header, sizeof header);
    }
    push(who, event);
  }

  // Data belong to whom they are leased to; here all may write to all of it.
  bool is_writable(std::uint64_t at, std::uint64_t bytes) const {
    const shm::SegmentHeader& header = server_.segment().header();
    return at >= header.data_offset && at <= header.segment_bytes - bytes;
  }

  // Any bytes into an event's slot, or into leased memory.
  void scribble(std::uint32_t who) {
    const std::string bytes = input_.text(1 + input_.below(64));
    if (input_.below(2) == 0) {
      const std::uint32_t slot = input_.below(server_.segment().header().event_slots);
      std::memcpy(static_cast<void*>(server_.client(who).events + slot), bytes.data(),
                  bytes.size());
      return;
    }
    const std::uint64_t at = offset(who);
    if (!is_writable(at, bytes.size())) return;
    std::memcpy(server_.segment().at<char>(at), bytes.data(), bytes.size());
  }

  void set_words(std::uint32_t who) {
    shm::ClientLane& lane = *server_.client(who).client;
    switch (input_.below(5)) {
      case 0:
        return lane.event_tail.store(input_.take<std::uint64_t>());
      case 1:
        lane.event_tail.fetch_add(input_.byte());
        return;
      case 2:
        return lane.release_head.store(static_cast<std::uint64_t>(input_.number()));
      case 3:
        return lane.waiting.store(input_.below(3));
      case 4:
        lane.failed.store(input_.take<std::uint64_t>());
        return lane.iteration.store(input_.number());
    }
  }

  void steer() {
    const char* names[] = {"n", "unset", "dt", "title", "nothing"};
    const std::string name = names[input_.below(5)];
    if (input_.below(2) == 0) return server_.steer(name, input_.number());
    server_.steer(name, input_.text(input_.byte()));
  }

  static constexpr std::uint8_t kPatches = 0xe0;   // and the 15 behind it: acts that push a patch
  static constexpr std::uint8_t kProducts = 0xd8;  // and 7: acts that publish products
  static constexpr std::uint32_t kFields = 4;      // variables without levels; patches follow
  static constexpr std::uint32_t kVariables = 6;
  static constexpr std::uint32_t kDims[kVariables] = {0, 1, 2, 2, 2, 2};
  static constexpr std::uint64_t kBytes[kVariables] = {8, 4, 4, 8, 8, 4};

  fuzz::Input input_;
  DrivenEngine server_;
  std::array<Client, DrivenEngine::kClients> clients_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const auto overflow_policy :
       {model::OverflowPolicy::wait, model::OverflowPolicy::drop_iteration,
        model::OverflowPolicy::error}) {
    HostileClients(data, size, overflow_policy).run();
  }
  return 0;
}

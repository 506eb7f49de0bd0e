// SPDX-License-Identifier: Apache-2.0
#include "lib/comm/network.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <memory>
#include <thread>

#include "lib/comm/tcp_links.hpp"

namespace leat::comm {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kSecond = 1'000'000'000;

// Each a server of its own, with the threads and sockets of one, on addresses of this machine.
class Servers {
 public:
  explicit Servers(Rank size, Rank fan_out = 2)
      : size_(size), fan_out_(fan_out), credential_(*Credential::make()) {
    for (Rank rank = 0; rank < size; ++rank) start(rank, credential_);
    for (auto& each : all_) each->set_cards(cards_);
  }

  void start(Rank rank, const Credential& credential, const std::string& run = "run-1") {
    auto links = std::make_unique<TcpLinks>(
        TcpLinks::Settings{rank, size_, run, kSecond, std::size_t{1} << 20}, credential);
    const Result<std::uint16_t> port = links->listen({"127.0.0.1"});
    ASSERT_TRUE(port) << port.error().message;
    cards_.push_back({rank, "node", *port, {"127.0.0.1"}});
    MemberSettings settings{rank, size_, fan_out_, kSecond, 2 * kSecond, 20 * kSecond, 1000};
    all_.push_back(std::make_unique<Network>(settings, std::move(links), [] {}));
  }

  Network& operator[](Rank rank) { return *all_[static_cast<std::size_t>(rank)]; }
  const Card& card(Rank rank) const { return cards_[static_cast<std::size_t>(rank)]; }
  void end(Rank rank) { all_[static_cast<std::size_t>(rank)].reset(); }

  std::vector<Outcome> await(Rank rank, std::size_t count) {
    std::vector<Outcome> outcomes;
    const auto until = std::chrono::steady_clock::now() + 30s;
    while (outcomes.size() < count && std::chrono::steady_clock::now() < until) {
      for (Outcome& each : (*this)[rank].take_outcomes()) {
        (*this)[rank].confirm(each.sequence);
        outcomes.push_back(std::move(each));
      }
      std::this_thread::sleep_for(1ms);
    }
    return outcomes;
  }

 private:
  Rank size_, fan_out_;
  Credential credential_;
  std::vector<Card> cards_;
  std::vector<std::unique_ptr<Network>> all_;
};

template <class Condition>
bool holds_soon(Condition condition) {
  const auto until = std::chrono::steady_clock::now() + 30s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

TEST(Network, CarriesRoundsOverARealNetwork) {
  constexpr Rank kSize = 7;
  Servers servers(kSize);
  for (std::int64_t round = 0; round < 20; ++round)
    for (Rank rank = 0; rank < kSize; ++rank)
      servers[rank].contribute({0, round}, {Integers{Op::sum, {rank + round}}});
  for (Rank rank = 0; rank < kSize; ++rank) {
    const std::vector<Outcome> outcomes = servers.await(rank, 20);
    ASSERT_EQ(outcomes.size(), 20U) << rank << ": " << servers[rank].status().why_waiting;
    for (std::int64_t round = 0; round < 20; ++round) {
      EXPECT_EQ(outcomes[static_cast<std::size_t>(round)].of, RankSet(0, kSize - 1));
      EXPECT_TRUE(outcomes[static_cast<std::size_t>(round)].columns ==
                  (Columns{Integers{Op::sum, {21 + kSize * round}}}));
    }
  }
  for (Rank rank = 0; rank < kSize; ++rank) servers[rank].leave();
  for (Rank rank = 0; rank < kSize; ++rank)
    EXPECT_TRUE(holds_soon([&] { return servers[rank].status().has_left; })) << rank;
}

TEST(Network, GoesOnWithoutAServerThatHasEndedBeItTheRoot) {
  Servers servers(5);
  ASSERT_TRUE(holds_soon([&] { return servers[4].status().is_joined; }));
  servers.end(0);
  for (Rank rank = 1; rank < 5; ++rank)
    servers[rank].contribute({0, 0}, {Integers{Op::sum, {rank}}});
  for (Rank rank = 1; rank < 5; ++rank) {
    const std::vector<Outcome> outcomes = servers.await(rank, 1);
    ASSERT_EQ(outcomes.size(), 1U) << rank << servers[rank].status().why_alone;
    EXPECT_EQ(outcomes[0].of, RankSet(1, 4));
    EXPECT_EQ(servers[rank].status().view.root, 1);
  }
}

TEST(Network, StrangersAreRefusedAndCounted) {
  Servers servers(1);
  const Card& card = servers.card(0);
  for (int i = 0; i < 300; ++i) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(card.port);
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    const leat::os::UniqueFd stranger(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(connect(stranger.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    [[maybe_unused]] const ssize_t sent =
        ::send(stranger.get(), "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL);
  }
  EXPECT_TRUE(holds_soon([&] { return servers[0].status().refused >= 300; }))
      << servers[0].status().refused;
  EXPECT_NE(servers[0].status().why_refused, "");
  servers[0].contribute({0, 0}, {});
  EXPECT_EQ(servers.await(0, 1).size(), 1U);
}

TEST(Network, AServerOfAnotherRunOrWithAnotherCredentialDoesNotGetIn) {
  for (const bool other_run : {true, false}) {
    const Credential credential = *Credential::make();
    auto links =
        std::make_unique<TcpLinks>(TcpLinks::Settings{0, 2, "run-1", kSecond, 1000}, credential);
    const Result<std::uint16_t> port = links->listen({"127.0.0.1"});
    ASSERT_TRUE(port);
    const MemberSettings settings{0, 2, 2, kSecond, 2 * kSecond, 20 * kSecond, 1000};
    Network server(settings, std::move(links), [] {});
    auto theirs = std::make_unique<TcpLinks>(
        TcpLinks::Settings{1, 2, other_run ? "run-2" : "run-1", kSecond, 1000},
        other_run ? credential : *Credential::make());
    theirs->set_cards({{0, "node", *port, {"127.0.0.1"}}});
    const MemberSettings their_settings{1, 2, 2, kSecond, 2 * kSecond, 20 * kSecond, 1000};
    Network stranger(their_settings, std::move(theirs), [] {});
    EXPECT_TRUE(holds_soon([&] { return server.status().refused > 0; }));
    EXPECT_TRUE(holds_soon([&] { return stranger.status().why_waiting != ""; }));
    EXPECT_FALSE(stranger.status().is_joined);
  }
}

}  // namespace
}  // namespace leat::comm

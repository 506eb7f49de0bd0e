// SPDX-License-Identifier: Apache-2.0
#include "lib/comm/tcp_links.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include <functional>

#include "tests/support/link_end.hpp"

namespace leat::comm {
namespace {

using test::kMs;
using test::LinkEnd;
using test::soon;

// A server of two.
LinkEnd tcp_end(Rank self, const Credential& credential, std::int64_t silence_ns = 2000 * kMs) {
  return {std::make_unique<TcpLinks>(
      TcpLinks::Settings{self, 2, "run", silence_ns, std::size_t{64} << 20}, credential)};
}

Result<std::uint16_t> listen_at(LinkEnd* end, const std::vector<std::string>& addresses,
                                std::uint16_t port = 0) {
  return static_cast<TcpLinks&>(*end->links).listen(addresses, port);
}

std::uint16_t port_of(LinkEnd* end, const std::string& address, std::uint16_t port = 0) {
  const Result<std::uint16_t> at = listen_at(end, {address}, port);
  EXPECT_TRUE(at) << at.error().message;
  return at ? *at : std::uint16_t{0};
}

// Its queue of connections is full: what is sent to it leads nowhere, and no answer comes.
struct BlackHole {
  os::UniqueFd listener{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::vector<os::UniqueFd> queued{};
  SocketAddress address;

  BlackHole(const std::string& at, std::uint16_t port) : address(*socket_address(at, port)) {
    EXPECT_EQ(bind(listener.get(), address.get(), address.size), 0);
    EXPECT_EQ(listen(listener.get(), 0), 0);
    for (int i = 0; i < 4; ++i) {
      queued.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      connect(queued.back().get(), address.get(), address.size);
    }
  }
};

TEST(TcpLinks, AnAddressThatLeadsNowhereCostsLittleAndOnce) {
  const Credential credential = *Credential::make();
  LinkEnd a = tcp_end(0, credential), b = tcp_end(1, credential, 4000 * kMs);
  const std::uint16_t port = port_of(&a, "127.0.0.9");
  const BlackHole first("127.0.0.7", port), second("127.0.0.8", port);
  b.links->set_cards({{0, "n0", port, {"127.0.0.7", "127.0.0.8", "127.0.0.9"}}});
  const std::int64_t begin_ns = os::now_ns();
  b.links->want(0, begin_ns);
  ASSERT_TRUE(soon({&a, &b}, [&] { return b.seen[0].ups == 1; })) << b.links->why_unreached();
  const std::int64_t took_ns = os::now_ns() - begin_ns;
  EXPECT_GE(took_ns, 1000 * kMs);
  EXPECT_LT(took_ns, 4000 * kMs);
  b.links->want(std::nullopt, os::now_ns());
  b.poll();
  const std::int64_t again_ns = os::now_ns();
  b.links->want(0, again_ns);
  ASSERT_TRUE(soon({&a, &b}, [&] { return b.seen[0].ups == 2; }));
  EXPECT_LT(os::now_ns() - again_ns, 450 * kMs);
}

TEST(TcpLinks, WhyAServerIsNotReachedNamesAllAddressesThatWereTried) {
  const Credential credential = *Credential::make();
  LinkEnd a = tcp_end(0, credential), b = tcp_end(1, credential, 800 * kMs);
  const std::uint16_t port = port_of(&a, "127.0.0.9");
  const BlackHole hole("127.0.0.7", port);
  b.links->set_cards({{0, "n0", port, {"127.0.0.7", "127.0.0.8", "fe80::1%no-such"}}});
  b.links->want(0, os::now_ns());
  EXPECT_TRUE(soon({&b}, [&] {
    return b.says("server 0 on node n0 cannot be reached: ") && b.says("127.0.0.7:") &&
           b.says("it does not answer; ") && b.says("127.0.0.8:") &&
           b.says("Connection refused; ") && b.says("fe80::1%no-such: ");
  })) << b.links->why_unreached();
  b.links->set_cards({{0, "n0", port, {"127.0.0.9"}}});
  EXPECT_TRUE(soon({&a, &b}, [&] { return b.seen[0].ups == 1; }));
  EXPECT_EQ(b.links->why_unreached(), "");
}

TEST(TcpLinks, ASuccessorListensAtThePortOfTheKilledOne) {
  const Credential credential = *Credential::make();
  LinkEnd b = tcp_end(1, credential);
  std::uint16_t port = 0;
  for (int turn = 1; turn <= 3; ++turn) {
    LinkEnd a = tcp_end(0, credential);
    port = port_of(&a, "127.0.0.1", port);
    b.links->set_cards({{0, "n0", port, {"127.0.0.1"}}});
    b.links->want(0, os::now_ns());
    ASSERT_TRUE(soon({&a, &b}, [&] { return b.seen[0].ups == turn && a.seen[1].ups == 1; }))
        << turn;
    a.links->send(1, std::to_string(turn));
    ASSERT_TRUE(soon({&a, &b},
                     [&] { return b.seen[0].messages.size() == static_cast<std::size_t>(turn); }));
  }
  EXPECT_TRUE(soon({&b}, [&] { return b.seen[0].downs == 3; }));
}

TEST(TcpLinks, ListenAtSeveralAddressesByOnePort) {
  const Credential credential = *Credential::make();
  LinkEnd a = tcp_end(0, credential);
  const Result<std::uint16_t> port = listen_at(&a, {"127.0.0.1", "127.0.0.2", "127.0.0.3"});
  ASSERT_TRUE(port);
  LinkEnd other = tcp_end(0, credential);
  const Result<std::uint16_t> taken = listen_at(&other, {"127.0.0.2"}, *port);
  ASSERT_FALSE(taken);
  EXPECT_NE(taken.error().message.find("127.0.0.2:" + std::to_string(*port)), std::string::npos);
  EXPECT_FALSE(listen_at(&other, {"192.0.2.1"}));
  EXPECT_FALSE(listen_at(&other, {"node7"}));
}

// ---- strangers ----

os::UniqueFd stranger_at(std::uint16_t port, const std::string& bytes) {
  SocketAddress address = *socket_address("127.0.0.1", port);
  os::UniqueFd made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(made.get(), address.get(), address.size) == 0) [[maybe_unused]]
    const ssize_t sent = send(made.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return made;
}

// What a server says first.
std::string first_bytes(const Credential& credential) {
  return TlsStream(credential, TlsStream::Side::connects).take_out();
}

// Many that do nothing do not keep a server out, nor one that is there.
TEST(TcpLinks, StrangersThatSayNothingGiveWayToOthers) {
  const Credential credential = *Credential::make();
  LinkEnd a = tcp_end(0, credential), b = tcp_end(1, credential);
  const std::uint16_t port = port_of(&a, "127.0.0.1");
  std::vector<os::UniqueFd> strangers;
  for (int i = 0; i < 300; ++i) {
    strangers.push_back(stranger_at(port, i % 2 ? "GET" : ""));
    if (i % 50 == 0) a.poll();
  }
  b.links->set_cards({{0, "n0", port, {"127.0.0.1"}}});
  b.links->want(0, os::now_ns());
  ASSERT_TRUE(soon({&a, &b}, [&] { return b.seen[0].ups == 1; })) << b.links->why_unreached();
  for (int i = 0; i < 300; ++i) strangers.push_back(stranger_at(port, ""));
  ASSERT_TRUE(soon({&a, &b}, [&] { return a.links->refused() >= 600 - 128; }))
      << a.links->refused();
  EXPECT_EQ(a.links->why_refused().rfind("127.0.0.1:", 0), 0U) << a.links->why_refused();
  EXPECT_EQ(a.seen[1].downs + b.seen[0].downs, 0);
}

TEST(TcpLinks, WhoDoesNotEndItsHandshakeIsRefusedInTime) {
  const Credential credential = *Credential::make();
  LinkEnd a{std::make_unique<TcpLinks>(TcpLinks::Settings{0, 2, "run", 2000 * kMs, 1000},
                                       credential, 300 * kMs)};
  const std::uint16_t port = port_of(&a, "127.0.0.1");
  const std::string begin = first_bytes(credential);
  std::vector<os::UniqueFd> strangers;
  for (const std::size_t size : {std::size_t{0}, std::size_t{31}, std::size_t{32}, begin.size()})
    strangers.push_back(stranger_at(port, begin.substr(0, size)));
  const std::int64_t begin_ns = os::now_ns();
  ASSERT_TRUE(soon({&a}, [&] { return a.links->refused() == 4; }));
  EXPECT_GE(os::now_ns() - begin_ns, 250 * kMs);
  EXPECT_NE(a.links->why_refused().find("it has not said who it is"), std::string::npos);
}

TEST(TcpLinks, WhoIsOfAnotherRunOrRankOrCredentialIsRefusedWithItsAddress) {
  const Credential credential = *Credential::make();
  const struct {
    TcpLinks::Settings settings;
    bool has_credential;
    const char* why;
  } cases[] = {{{1, 2, "other", 2000 * kMs}, true, "another run"},
               {{1, 3, "run", 2000 * kMs}, true, "another run"},
               {{0, 2, "run", 2000 * kMs}, true, "it is server 0 and means server 1"},
               {{1, 2, "run", 2000 * kMs}, false, "does not know the credential"}};
  for (const auto& each : cases) {
    LinkEnd a = tcp_end(0, credential);
    LinkEnd b{std::make_unique<TcpLinks>(each.settings,
                                         each.has_credential ? credential : *Credential::make())};
    const std::uint16_t port = port_of(&a, "127.0.0.1");
    const Rank meant = each.settings.self == 0 ? 1 : 0;
    b.links->set_cards({{meant, "n0", port, {"127.0.0.1"}}});
    b.links->want(meant, os::now_ns());
    ASSERT_TRUE(soon({&a, &b}, [&] { return a.links->refused() > 0; })) << each.why;
    EXPECT_EQ(a.links->why_refused().rfind("127.0.0.1:", 0), 0U);
    EXPECT_NE(a.links->why_refused().find(each.why), std::string::npos) << a.links->why_refused();
    EXPECT_TRUE(soon({&a, &b}, [&] { return b.says("has closed the connection"); }));
    EXPECT_TRUE(a.seen.empty() && b.seen.empty());
  }
}

std::int64_t thread_time_ns() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return used.tv_sec * 1000 * kMs + used.tv_nsec;
}

// As fast as one process can, of any kind: little of a core is used, and the server of the run comes in. But for who has
// recorded what it says: he can listen to the network and end any connection.
TEST(TcpLinks, AFloodOfStrangersIsBoundedAndKeepsNoServerOut) {
  const Credential credential = *Credential::make();
  const std::string recorded = first_bytes(credential);
  const std::string kinds[] = {"", "GET / HTTP/1.1\r\n\r\n" + std::string(32, ' '),
                               first_bytes(*Credential::make()), recorded};
  for (const std::string& bytes : kinds) {
    LinkEnd a = tcp_end(0, credential, 4000 * kMs), b = tcp_end(1, credential, 4000 * kMs);
    const std::uint16_t port = port_of(&a, "127.0.0.1");
    const pid_t flood = fork();
    while (flood == 0) stranger_at(port, bytes);
    const std::uint64_t at_once = bytes == recorded ? 100 : 500;  // so many may come
    EXPECT_TRUE(soon({&a}, [&] { return a.links->refused() > at_once; }));
    const std::int64_t begin_ns = os::now_ns();
    const std::int64_t used_ns = thread_time_ns();
    while (os::now_ns() < begin_ns + 1000 * kMs) a.poll(100 * kMs);
    const double share = static_cast<double>(thread_time_ns() - used_ns) /
                         static_cast<double>(os::now_ns() - begin_ns);
    EXPECT_LT(share, 0.15) << bytes.size();
    b.links->set_cards({{0, "n0", port, {"127.0.0.1"}}});
    b.links->want(0, os::now_ns());
    EXPECT_TRUE(bytes == recorded || soon({&a, &b}, [&] { return b.seen[0].ups == 1; }))
        << b.links->why_unreached();
    kill(flood, SIGKILL);
    waitpid(flood, nullptr, 0);
  }
}

// ---- on two nodes, which are network namespaces ----

bool did(const std::string& command) { return std::system(command.c_str()) == 0; }

// Of a node of its own; what it does is told by its end status.
pid_t start_node(const std::function<int()>& what) {
  const pid_t node = fork();
  if (node == 0) _exit(unshare(CLONE_NEWNET) == 0 ? what() : 77);
  return node;
}

int end_of(pid_t node) {
  int status = 0;
  waitpid(node, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

constexpr std::uint16_t kPort = 4711;
const char* const kBetweenNodes = "10.77.0.0/24";

int serve(const Credential& credential) {
  const auto has_cables = [] {
    return addresses_of_node(kBetweenNodes) && addresses_of_node("vb2");
  };
  for (int i = 0; i < 2000 && !has_cables(); ++i) os::sleep_ns(5 * kMs);
  const Result<std::vector<std::string>> offered = addresses_of_node(kBetweenNodes);
  // IPv6 of one cable comes by itself, and is not offered.
  if (!offered || *offered != std::vector<std::string>{"10.77.0.1", "10.78.0.1", "2001:db8::1"})
    return 1;
  if (addresses_of_node("ib0")) return 2;
  LinkEnd a = tcp_end(0, credential);
  if (port_of(&a, "0.0.0.0", kPort) != kPort) return 3;
  return soon({&a}, [&] { return !a.seen[1].messages.empty() && a.seen[1].downs == 1; }) ? 0 : 4;
}

// The other end of cable 2 has the address of this one in its card, but what is sent there is lost.
int reach(const Credential& credential, pid_t other) {
  const std::string there = "nsenter -t " + std::to_string(other) + " -n ";
  const std::string pid = std::to_string(other);
  for (int i = 0; i < 500 && !did("test $(readlink /proc/" + pid +
                                  "/ns/net) != $(readlink "
                                  "/proc/" +
                                  std::to_string(getppid()) + "/ns/net)");
       ++i)
    os::sleep_ns(5 * kMs);
  if (!did("ip link add va1 type veth peer name vb1 netns " + pid +
           " && "
           "ip link add va2 type veth peer name vb2 netns " +
           pid +
           " && "
           "ip addr add 10.77.0.2/24 dev va1 && ip addr add 10.78.0.2/24 dev va2 && "
           "ip link set va1 up && ip link set va2 up && " +
           there + "ip addr add 10.77.0.1/24 dev vb1 && " + there +
           "ip addr add 10.78.0.1/24 dev vb2 && " + there +
           "ip addr add 2001:db8::1/64 dev vb1 nodad && " + there + "ip link set lo up && " +
           there + "ip link set vb1 up && " + there +
           "ip link set vb2 up && "
           "ip neigh add 10.78.0.1 lladdr 02:00:00:00:00:99 dev va2"))
    return 78;
  LinkEnd b = tcp_end(1, credential, 1600 * kMs);
  b.links->set_cards({{0, "n0", kPort, {"10.78.0.1", "10.77.0.1"}}});
  b.links->want(0, os::now_ns());
  if (!soon({&b}, [&] { return b.seen[0].ups == 1; })) return 11;
  b.links->send(0, "over the cable that works");
  const std::int64_t until_ns = os::now_ns() + 200 * kMs;
  while (os::now_ns() < until_ns) b.poll();
  return 0;
}

TEST(TcpLinks, NodesMeetByTheCableThatWorks) {
  const Credential credential = *Credential::make();
  const pid_t server = start_node([&] { return serve(credential); });
  const pid_t client = start_node([&] { return reach(credential, server); });
  const int client_end = end_of(client);
  if (client_end != 0) kill(server, SIGKILL);
  const int server_end = end_of(server);
  if (client_end == 77 || client_end == 78)
    GTEST_SKIP() << "network namespaces with ip(8) need root";
  EXPECT_EQ(client_end, 0);
  EXPECT_EQ(server_end, 0);
}

}  // namespace
}  // namespace leat::comm

// SPDX-License-Identifier: Apache-2.0
// The sockets of a control channel: what comes, and how often the loop is woken for it.
#include "server/driver/control_sockets.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "lib/os/clock.hpp"
#include "lib/os/descriptor.hpp"
#include "lib/os/local_socket.hpp"

namespace leat::server {
namespace {

using control::Json;

constexpr std::int64_t kLongNs = 10'000'000'000;

class QuietRun final : public control::ControlledRun {
 public:
  control::Answer answer(const control::Request&) override { return std::string("null"); }
};

class ControlSocketsTest : public testing::Test {
 protected:
  ~ControlSocketsTest() override { unlink(path_.c_str()); }

  os::UniqueFd connect() const {
    auto socket = os::connect_to(path_, os::SocketKind::stream);
    return socket ? std::move(*socket) : os::UniqueFd();
  }
  static void ask(const os::UniqueFd& socket) {
    const std::string line = "{\"leat_control\": 1, \"request\": \"status\"}\n";
    ASSERT_EQ(::write(socket.get(), line.data(), line.size()), static_cast<ssize_t>(line.size()));
  }
  bool is_due_within(std::int64_t ns) const {
    return os::is_readable_within(sockets_.descriptor(), ns);
  }
  // As the loop does it, until there is nothing to do and the rest after that is over.
  void turn_until_quiet() {
    while (is_due_within(50'000'000)) sockets_.turn(os::now_ns());
  }

  const std::string path_ = testing::TempDir() + "control-" + std::to_string(getpid());
  QuietRun run_;
  control::Channel channel_{run_};
  ControlSockets sockets_{*os::listen_at(path_, os::SocketKind::stream), channel_};
};

TEST_F(ControlSocketsTest, AnswerAtOnceAfterARest) {
  const os::UniqueFd peer = connect();
  ask(peer);
  ASSERT_TRUE(is_due_within(kLongNs));
  sockets_.turn(os::now_ns());
  EXPECT_TRUE(os::is_readable_within(peer.get(), 0));
}

TEST_F(ControlSocketsTest, CostNothingWhenNothingComes) {
  const os::UniqueFd peer = connect();
  turn_until_quiet();
  EXPECT_EQ(channel_.connections().size(), 1u);
  EXPECT_FALSE(is_due_within(0));
}

// A turn may be interrupted for longer than its rest; not each time.
TEST_F(ControlSocketsTest, RestAlthoughMoreHasCome) {
  const os::UniqueFd peer = connect();
  bool rested = false;
  for (int i = 0; i < 1000 && !rested; ++i) {
    ask(peer);
    ASSERT_TRUE(is_due_within(kLongNs));
    sockets_.turn(os::now_ns());
    ask(peer);
    rested = !is_due_within(0);
    ASSERT_TRUE(is_due_within(kLongNs));
    turn_until_quiet();
    char replies[4096];
    while (::recv(peer.get(), replies, sizeof replies, MSG_DONTWAIT) > 0) continue;
  }
  EXPECT_TRUE(rested);
}

TEST_F(ControlSocketsTest, CloseThoseThatHaveGone) {
  std::vector<os::UniqueFd> crowd;
  for (int i = 0; i < 20; ++i) crowd.push_back(connect());
  turn_until_quiet();
  ASSERT_EQ(channel_.connections().size(), 20u);
  crowd.clear();
  turn_until_quiet();
  EXPECT_TRUE(channel_.connections().empty());
}

TEST_F(ControlSocketsTest, SendWhatIsPublishedWhenTheyAreWoken) {
  const os::UniqueFd peer = connect();
  const std::string line = "{\"leat_control\": 1, \"request\": \"subscribe\"}\n";
  ASSERT_GT(::write(peer.get(), line.data(), line.size()), 0);
  turn_until_quiet();
  char text[4096];
  ASSERT_GT(::recv(peer.get(), text, sizeof text, MSG_DONTWAIT), 0);
  channel_.publish("open", {{"iteration", 0}}, os::now_ns());
  EXPECT_FALSE(is_due_within(0));
  sockets_.wake();
  turn_until_quiet();
  EXPECT_GT(::recv(peer.get(), text, sizeof text, MSG_DONTWAIT), 0);
}

}  // namespace
}  // namespace leat::server

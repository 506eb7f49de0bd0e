// SPDX-License-Identifier: Apache-2.0
#include "lib/staging/frames.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstring>
#include <thread>

#include "lib/comm/listening.hpp"

namespace leat::staging {
namespace {

using comm::ByteStream;

constexpr std::int64_t kLimit = 10'000'000'000;

struct Ends {
  std::unique_ptr<Conversation> a, b;
};

os::UniqueFd next_of(const comm::Listening& listening) {
  os::UniqueFd socket;
  while (!socket)
    socket = os::UniqueFd(
        accept4(listening.sockets[0].get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  return socket;
}

Ends connected(bool plain) {
  const comm::Credential credential = *comm::Credential::make();
  const comm::Listening listening = *comm::listen_at({"127.0.0.1"});
  std::unique_ptr<ByteStream> accepted;
  std::jthread accepting(
      [&] { accepted = std::move(*ByteStream::accept(next_of(listening), credential, kLimit)); });
  auto made = ByteStream::connect({"127.0.0.1"}, listening.port, credential, kLimit);
  accepting.join();
  (*made)->settle(plain);
  accepted->settle(plain);
  return {std::make_unique<Conversation>(std::move(*made)),
          std::make_unique<Conversation>(std::move(accepted))};
}

class Frames : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(PlainOrEncrypted, Frames, testing::Bool());

TEST_P(Frames, TextsAndBlocksComeAsTheyWereSentBothWays) {
  Ends ends = connected(GetParam());
  std::vector<char> data(3'000'000);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i * 7919 >> 3);
  BlockHead head;
  head.rank = 5;
  head.variable = 2;
  head.extent[1] = -4;
  head.bytes = data.size();
  std::jthread sending([&] {
    EXPECT_TRUE(ends.a->send(FrameKind::parameters, "{}", kLimit));
    EXPECT_TRUE(ends.a->send_block(head, data.data(), kLimit));
    EXPECT_TRUE(ends.a->send_block(head, data.data(), kLimit));
    head.bytes = 0;
    EXPECT_TRUE(ends.a->send_block(head, nullptr, kLimit));
  });
  Frame frame;
  ASSERT_TRUE(ends.b->receive(&frame, kLimit));
  EXPECT_EQ(frame.kind, FrameKind::parameters);
  EXPECT_EQ(frame.text, "{}");
  std::vector<char> got(data.size());
  ASSERT_TRUE(ends.b->receive(&frame, kLimit));
  EXPECT_EQ(frame.block.rank, 5);
  EXPECT_EQ(frame.block.extent[1], -4);
  ASSERT_TRUE(ends.b->receive_data(frame.block, got.data(), kLimit));
  EXPECT_EQ(got, data);
  ASSERT_TRUE(ends.b->receive(&frame, kLimit));
  ASSERT_TRUE(ends.b->receive_data(frame.block, nullptr, kLimit));  // thrown away
  ASSERT_TRUE(ends.b->receive(&frame, kLimit));
  ASSERT_TRUE(ends.b->receive_data(frame.block, got.data(), kLimit));
  sending.join();
  EXPECT_TRUE(ends.b->send(FrameKind::taken, "1", kLimit));
  ASSERT_TRUE(ends.a->receive(&frame, kLimit));
  EXPECT_EQ(frame.text, "1");
}

TEST_P(Frames, WhoWaitsGivesUpAfterItsLimitOrWhenItIsToldTo) {
  Ends ends = connected(GetParam());
  Frame frame;
  EXPECT_FALSE(ends.a->receive(&frame, 300'000'000));
  EXPECT_NE(ends.a->why_over().find("has not moved a byte"), std::string::npos);
  std::jthread waiting([&] { EXPECT_FALSE(ends.b->receive(&frame, kLimit)); });
  ends.b->stream().give_up();
}

TEST_P(Frames, AnEndThatIsGoneIsSaid) {
  Ends ends = connected(GetParam());
  ends.b.reset();
  Frame frame;
  EXPECT_FALSE(ends.a->receive(&frame, kLimit));
  EXPECT_EQ(ends.a->why_over(), "the other end has closed the connection");
}

TEST(Frames, DataThatChangedOnAPlainConnectionAreFound) {
  Ends ends = connected(true);
  BlockHead head;
  head.bytes = 4;
  head.has_checksum = 1;
  head.checksum = 12345;  // of other data
  std::jthread sending([&] { ends.a->send_block(head, "abcd", kLimit); });
  Frame frame;
  char got[4];
  ASSERT_TRUE(ends.b->receive(&frame, kLimit));
  EXPECT_FALSE(ends.b->receive_data(frame.block, got, kLimit));
  EXPECT_EQ(ends.b->why_over(), "a block is not what was sent");
}

TEST(Streams, WhoDoesNotKnowTheCredentialIsRefused) {
  const comm::Listening listening = *comm::listen_at({"127.0.0.1"});
  std::jthread accepting([&] {
    const auto made = ByteStream::accept(next_of(listening), *comm::Credential::make(), kLimit);
    ASSERT_FALSE(made);
    EXPECT_NE(made.error().message.find("does not know the credential"), std::string::npos);
  });
  EXPECT_FALSE(
      ByteStream::connect({"127.0.0.1"}, listening.port, *comm::Credential::make(), kLimit));
}

}  // namespace
}  // namespace leat::staging

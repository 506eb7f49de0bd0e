// SPDX-License-Identifier: Apache-2.0
#include "lib/comm/tls.hpp"

#include <gtest/gtest.h>

#include <random>

namespace leat::comm {
namespace {

Credential credential() {
  Result<Credential> made = Credential::make();
  EXPECT_TRUE(made) << made.error().message;
  return *made;
}

// What lies between two ends, and may change what passes.
struct Wire {
  TlsStream a, b;
  std::string taken{};  ///< all that a has sent

  Wire(const Credential& of_a, const Credential& of_b)
      : a(of_a, TlsStream::Side::connects), b(of_b, TlsStream::Side::accepts) {}

  void pass(std::size_t most = SIZE_MAX) {
    for (int i = 0; i < 100; ++i) {
      const std::string forth = a.take_out(), back = b.take_out();
      taken += forth;
      if (forth.empty() && back.empty()) return;
      for (std::size_t at = 0; at < forth.size(); at += most) b.take_in(forth.substr(at, most));
      for (std::size_t at = 0; at < back.size(); at += most) a.take_in(back.substr(at, most));
    }
  }
};

TEST(Tls, CarriesMessagesOfAnySizeThoughBytesComeOneByOne) {
  const Credential own = credential();
  Result<Credential> read = Credential::from_text(own.text());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->fingerprint(), own.fingerprint());
  EXPECT_EQ(own.fingerprint().size(), 64U);
  for (const std::size_t most : {std::size_t{1}, std::size_t{100}, SIZE_MAX}) {
    Wire wire(own, *read);
    const std::string large(100000, 'x');
    EXPECT_TRUE(wire.a.send("before it is open"));
    EXPECT_TRUE(wire.a.send(""));
    wire.pass(most);
    EXPECT_TRUE(wire.a.is_open() && wire.b.is_open());
    EXPECT_TRUE(wire.b.send(large));
    EXPECT_TRUE(wire.a.send("after"));
    wire.pass(most);
    EXPECT_EQ(wire.b.take_messages(), (std::vector<std::string>{"before it is open", "", "after"}));
    EXPECT_EQ(wire.a.take_messages(), std::vector<std::string>{large});
    EXPECT_EQ(wire.taken.find("before it is open"), std::string::npos);
  }
}

TEST(Tls, WhoHasAnotherCredentialIsRefusedAtItsKnock) {
  for (const bool connects : {true, false}) {
    const Credential own = credential(), other = credential();
    Wire wire(connects ? other : own, connects ? own : other);
    wire.a.send("secret");
    wire.b.send("secret");
    wire.pass();
    EXPECT_NE(wire.b.why_broken(), "");
    EXPECT_FALSE(wire.b.has_begun());
    EXPECT_FALSE(wire.a.is_open() || wire.b.is_open());
    EXPECT_EQ(wire.b.take_out(), "");
    EXPECT_TRUE(wire.a.take_messages().empty() && wire.b.take_messages().empty());
  }
}

// Somebody who has recorded a knock, or does not ask for one, and has a credential, but not that of the run.
TEST(Tls, WithoutItsKnockAnotherCredentialDoesNotGetInEither) {
  const Credential own = credential(), other = credential();
  for (const bool connects : {true, false}) {
    const Credential& of_server = connects ? own : other;
    TlsStream knocks(of_server, TlsStream::Side::connects);
    TlsStream client(connects ? other : own, TlsStream::Side::connects);
    TlsStream server(of_server, TlsStream::Side::accepts);
    client.send("secret");
    std::string bytes = knocks.take_out().substr(0, Credential::kKnockBytes) +
                        client.take_out().substr(Credential::kKnockBytes);
    for (int i = 0; i < 10; ++i) {
      server.take_in(bytes);
      client.take_in(server.take_out());
      bytes = client.take_out();
    }
    EXPECT_TRUE(server.has_begun());
    EXPECT_NE(server.why_broken(), "");
    EXPECT_NE(client.why_broken(), "");
    EXPECT_FALSE(server.is_open() || client.is_open());
    EXPECT_TRUE(server.take_messages().empty());
  }
}

TEST(Tls, WhateverStrangersSendIsRefused) {
  const Credential own = credential();
  std::mt19937_64 random(1);
  for (int turn = 0; turn < 300; ++turn) {
    TlsStream end(own, turn % 2 ? TlsStream::Side::accepts : TlsStream::Side::connects);
    std::string bytes(1 + random() % 500, '\0');
    for (char& each : bytes) each = static_cast<char>(random());
    if (turn % 3 == 0) bytes = "GET / HTTP/1.1\r\nHost: leat\r\n\r\n";
    end.take_in(bytes);
    end.take_in(bytes);
    EXPECT_FALSE(end.is_open());
    EXPECT_TRUE(end.take_messages().empty());
  }
}

TEST(Tls, WhatIsChangedRepeatedCutOrLeftOutOnTheWayBreaksTheConnection) {
  const Credential own = credential();
  for (int what = 0; what < 4; ++what) {
    Wire wire(own, own);
    wire.pass();
    wire.a.send("one");
    std::string one = wire.a.take_out();
    wire.a.send("two");
    const std::string two = wire.a.take_out();
    if (what == 0) one[one.size() / 2] ^= 1;
    if (what == 1) one += one;
    if (what == 2) one.clear();
    if (what == 3) one.pop_back();
    EXPECT_FALSE(wire.b.take_in(one) && wire.b.take_in(two)) << what;
    EXPECT_NE(wire.b.why_broken(), "");
    const std::vector<std::string> messages = wire.b.take_messages();
    EXPECT_LE(messages.size(), what == 1 ? 1U : 0U) << what;
  }
}

TEST(Tls, ARecordedConnectionCannotBePlayedAgain) {
  const Credential own = credential();
  Wire wire(own, own);
  wire.a.send("do it");
  wire.pass();
  TlsStream again(own, TlsStream::Side::accepts);
  again.take_in(wire.taken);
  EXPECT_TRUE(again.take_messages().empty());
  EXPECT_FALSE(again.is_open());
}

TEST(Tls, AMessageThatIsTooLongIsNotSent) {
  Wire wire(credential(), credential());
  EXPECT_FALSE(wire.a.send(std::string(TlsStream::kMostBytes + 1, 'x')));
}

TEST(Tls, ACredentialThatIsNoneIsRefused) {
  const std::string text = credential().text();
  for (const std::string& none :
       {std::string(), std::string("leat-credential-1 "), text.substr(1), text + "0", text + "\n",
        text.substr(0, text.size() - 1), text.substr(0, text.size() - 1) + "g",
        "leat-credential-2" + text.substr(17)})
    EXPECT_FALSE(Credential::from_text(none)) << none;
  EXPECT_TRUE(Credential::from_text(text));
  EXPECT_NE(credential().text(), text);
  EXPECT_NE(credential().fingerprint(), credential().fingerprint());
}

}  // namespace
}  // namespace leat::comm

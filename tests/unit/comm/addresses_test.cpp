// SPDX-License-Identifier: Apache-2.0
#include "lib/comm/addresses.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace leat::comm {
namespace {

using Texts = std::vector<std::string>;

const std::vector<NodeAddress> kNode = {
    {"lo", "127.0.0.1", true}, {"eth0", "10.1.0.3"},   {"eth0:1", "169.254.3.4"},
    {"ib0", "10.2.0.3"},       {"lo", "::1", true},    {"eth0", "2001:db8::3"},
    {"eth0", "fe80::3%eth0"},  {"ib0", "fe80::4%ib0"},
};

Texts in_order(const std::string& hint) {
  const Result<Texts> chosen = addresses_in_order(kNode, hint);
  EXPECT_TRUE(chosen) << chosen.error().message;
  return chosen ? *chosen : Texts{};
}

TEST(Addresses, WithoutAHintAreAllByWhichOtherNodesMayReachThisOne) {
  EXPECT_EQ(in_order(""), (Texts{"10.1.0.3", "10.2.0.3", "2001:db8::3", "169.254.3.4"}));
}

TEST(Addresses, WhatWasHintedAtComesFirst) {
  EXPECT_EQ(in_order("ib0"), (Texts{"10.2.0.3", "10.1.0.3", "2001:db8::3", "169.254.3.4"}));
  EXPECT_EQ(in_order("10.2.0.0/16")[0], "10.2.0.3");
  EXPECT_EQ(in_order("10.2.0.3")[0], "10.2.0.3");
  EXPECT_EQ(in_order("2001:db8::/32")[0], "2001:db8::3");
  EXPECT_EQ(in_order("0.0.0.0/0")[0], "127.0.0.1");
  EXPECT_EQ(in_order("lo")[0], "127.0.0.1");
  EXPECT_EQ(in_order("10.2.0.2/31"), in_order("ib0"));
  EXPECT_EQ(in_order("2001:db8::/32, ib0 ,,eth0"),
            (Texts{"2001:db8::3", "10.2.0.3", "10.1.0.3", "169.254.3.4"}));
  EXPECT_EQ(in_order("fe80::/10")[0], "fe80::3%eth0");
}

TEST(Addresses, AHintThatFitsNothingNamesWhatThereIs) {
  for (const char* hint : {"eth1", "10.3.0.0/16", "10.1.0.0/33", "10.1.0.0/", "10.1.0/24", "ib",
                           "10.2.0.4/31", "2001:db9::/32", "ib0,eth1", "%", "/8"}) {
    const Result<Texts> chosen = addresses_in_order(kNode, hint);
    ASSERT_FALSE(chosen) << hint;
    EXPECT_NE(chosen.error().message.find("eth0 (10.1.0.3, 2001:db8::3"), std::string::npos);
    EXPECT_NE(chosen.error().message.find("ib0 (10.2.0.3"), std::string::npos);
  }
  EXPECT_NE(addresses_in_order(kNode, "eth1").error().message.find("\"eth1\" is no interface"),
            std::string::npos);
}

TEST(Addresses, LoopbackIsForANodeThatHasNothingElse) {
  const std::vector<NodeAddress> alone = {{"lo", "127.0.0.1", true}, {"eth0", "fe80::3%eth0"}};
  const Result<Texts> chosen = addresses_in_order(alone, "");
  ASSERT_TRUE(chosen);
  EXPECT_EQ(*chosen, Texts{"127.0.0.1"});
  EXPECT_FALSE(addresses_in_order({}, ""));
}

TEST(Addresses, OfThisNodeCanBeBound) {
  const Result<Texts> chosen = addresses_of_node("");
  ASSERT_TRUE(chosen) << chosen.error().message;
  for (const std::string& each : *chosen) {
    std::optional<SocketAddress> address = socket_address(each, 0);
    ASSERT_TRUE(address) << each;
    const int made = socket(address->bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(bind(made, address->get(), address->size), 0) << each;
    close(made);
  }
}

TEST(Addresses, AreShownAsPeopleWriteThem) {
  EXPECT_EQ(socket_address("10.1.0.3", 4000)->text(), "10.1.0.3:4000");
  EXPECT_EQ(socket_address("2001:db8::1", 4000)->text(), "[2001:db8::1]:4000");
  EXPECT_EQ(socket_address("fe80::1%lo", 4000)->port(), 4000);
  EXPECT_FALSE(socket_address("fe80::1%nothing", 1));
  EXPECT_FALSE(socket_address("node7", 1));
  EXPECT_FALSE(socket_address("10.1.0", 1));
}

}  // namespace
}  // namespace leat::comm

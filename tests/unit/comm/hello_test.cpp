// SPDX-License-Identifier: Apache-2.0
#include "lib/comm/hello.hpp"

#include <gtest/gtest.h>

namespace leat::comm {
namespace {

TEST(Hello, IsReadAsItWasWritten) {
  const Hello hello{3, 0, 1024, "a run, with spaces"};
  EXPECT_EQ(hello_in(hello_text(hello)), hello);
  const Hello of_no_name{0, 1, 2, ""};
  EXPECT_EQ(hello_in(hello_text(of_no_name)), of_no_name);
}

TEST(Hello, WhatIsNoneIsNone) {
  for (const char* text :
       {"", "GET / HTTP/1.1", "leat-servers-1", "leat-servers-1 1 2", "leat-servers-1 1 2 3",
        "leat-servers-2 1 2 3 run", "leat-servers-1 -1 2 3 run", "leat-servers-1 1 2 99999999999 r",
        "leat-servers-1 1  2 3 run", "leat-servers-1 1 2 3run"})
    EXPECT_FALSE(hello_in(text)) << text;
}

TEST(Hello, SaysWhyTwoServersAreNotMeantForEachOther) {
  const Hello own{1, -1, 4, "run"}, meant{1, 2, 4, "run"};
  EXPECT_EQ(why_no_peer(Hello{2, 1, 4, "run"}, own), "");
  EXPECT_EQ(why_no_peer(Hello{2, 1, 4, "run"}, meant), "");
  EXPECT_NE(why_no_peer(std::nullopt, own).find("another version"), std::string::npos);
  EXPECT_NE(why_no_peer(Hello{2, 1, 4, "other"}, own).find("another run"), std::string::npos);
  EXPECT_NE(why_no_peer(Hello{2, 1, 5, "run"}, own).find("another run"), std::string::npos);
  EXPECT_NE(why_no_peer(Hello{2, 3, 4, "run"}, own).find("means server 3"), std::string::npos);
  EXPECT_NE(why_no_peer(Hello{3, 1, 4, "run"}, meant).find("which means server 2"),
            std::string::npos);
  EXPECT_NE(why_no_peer(Hello{4, 1, 4, "run"}, own), "");
  EXPECT_NE(why_no_peer(Hello{1, 1, 4, "run"}, own), "");
}

}  // namespace
}  // namespace leat::comm

// SPDX-License-Identifier: Apache-2.0
#include "lib/node/placement.hpp"

#include <gtest/gtest.h>

#include "lib/node/runtime_folder.hpp"

namespace leat::os {
using namespace node;
namespace {

TEST(ServerShare, IsAPieceForEachAndAllTogetherAreTheWhole) {
  for (int whole = 1; whole < 40; ++whole) {
    for (int servers = 1; servers <= whole; ++servers) {
      int next = 0;
      for (int server = 0; server < servers; ++server) {
        const Share share = share_of(whole, server, servers);
        EXPECT_EQ(share.first, next);
        EXPECT_GE(share.count, whole / servers);
        EXPECT_LE(share.count, whole / servers + 1);
        for (int i = 0; i < share.count; ++i)
          EXPECT_EQ(server_of(share.first + i, whole, servers), server);
        next += share.count;
      }
      EXPECT_EQ(next, whole);
    }
  }
}

TEST(ServerShare, HasANameThatIsAGoodOneAndNoOthers) {
  EXPECT_EQ(session_of_server("run", 0), "run");
  EXPECT_EQ(session_of_server("run", 2), "run.2");
  const std::string longest = "." + std::string(kLongestSessionName - 2, 'x') + "7";
  const std::string second = session_of_server("ab" + longest.substr(2), 1);
  EXPECT_TRUE(valid_session_name(second)) << second;
  EXPECT_TRUE(second.ends_with("x7.1")) << second;
  EXPECT_TRUE(valid_session_name(session_of_server("ab" + longest.substr(0, 62), 1)));
}

}  // namespace
}  // namespace leat::os

// SPDX-License-Identifier: Apache-2.0
// The environment that a launcher makes, for one test; the tests may run under a launcher
// themselves.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>

#include "client-api/connect/ranks.hpp"

namespace leat::client {

using Environment = std::map<std::string, std::string>;

class LauncherEnvironment : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMI_SIZE", "SLURM_PROCID",
                             "PALS_RANKID", "LEAT_SESSION"}) {
      unsetenv(name);
    }
  }
  void TearDown() override {
    for (const auto& [name, value] : set_) unsetenv(name.c_str());
  }
  Result<Ranks> ranks_in(const Environment& variables) {
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
    set_ = variables;
    return ranks_from_environment();
  }
  Environment set_;
};

inline void expect(const Result<Ranks>& ranks, int rank, int size, int node_rank, int node_size) {
  ASSERT_TRUE(ranks) << ranks.error().message;
  EXPECT_EQ(ranks->rank, rank);
  EXPECT_EQ(ranks->size, size);
  EXPECT_EQ(ranks->node_rank, node_rank);
  EXPECT_EQ(ranks->node_size, node_size);
}

}  // namespace leat::client

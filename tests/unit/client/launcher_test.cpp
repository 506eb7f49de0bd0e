// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>

#include "client-api/launcher.hpp"

namespace leat::client {
namespace {

using Variables = std::map<std::string, std::string>;

// The environment that a launcher makes, for one test; the tests themselves may run under a
// launcher.
class Launcher : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name :
         {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "PALS_RANKID", "LEAT_SESSION"}) {
      unsetenv(name);
    }
  }
  void TearDown() override {
    for (const auto& [name, value] : set_) unsetenv(name.c_str());
  }
  Result<Ranks> ranks_in(const Variables& variables) {
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
    set_ = variables;
    return ranks_from_environment();
  }
  Variables set_;
};

void expect(const Result<Ranks>& ranks, int rank, int size, int node_rank, int node_size) {
  ASSERT_TRUE(ranks) << ranks.error().message;
  EXPECT_EQ(ranks->rank, rank);
  EXPECT_EQ(ranks->size, size);
  EXPECT_EQ(ranks->node_rank, node_rank);
  EXPECT_EQ(ranks->node_size, node_size);
}

TEST_F(Launcher, NoneMeansAloneWithASessionOfItsOwn) {
  const Result<Ranks> one = ranks_in({}), two = ranks_in({});
  expect(one, 0, 1, 0, 1);
  EXPECT_NE(one->session, two->session);
}

TEST_F(Launcher, OpenMpi) {
  const Result<Ranks> ranks = ranks_in({{"OMPI_COMM_WORLD_RANK", "5"},
                                        {"OMPI_COMM_WORLD_SIZE", "8"},
                                        {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                        {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                                        {"PMIX_NAMESPACE", "123@/1"}});
  expect(ranks, 5, 8, 1, 4);
  EXPECT_EQ(ranks->session, "ompi-123__1");
}

TEST_F(Launcher, Hydra) {
  expect(ranks_in({{"PMI_RANK", "2"},
                   {"PMI_SIZE", "3"},
                   {"MPI_LOCALRANKID", "2"},
                   {"MPI_LOCALNRANKS", "3"}}),
         2, 3, 2, 3);
}

TEST_F(Launcher, Slurm) {
  const Result<Ranks> ranks = ranks_in({{"SLURM_PROCID", "3"},
                                        {"SLURM_STEP_NUM_TASKS", "8"},
                                        {"SLURM_LOCALID", "3"},
                                        {"SLURM_STEP_TASKS_PER_NODE", "4(x2)"},
                                        {"SLURM_NODEID", "0"},
                                        {"SLURM_JOB_ID", "77"},
                                        {"SLURM_STEP_ID", "0"}});
  expect(ranks, 3, 8, 3, 4);
  EXPECT_EQ(ranks->session, "slurm-77.0");
}

TEST_F(Launcher, SlurmWithUnevenNodes) {
  const Variables common = {{"SLURM_STEP_NUM_TASKS", "9"},
                            {"SLURM_LOCALID", "0"},
                            {"SLURM_STEP_TASKS_PER_NODE", "2(x3),1,2"},
                            {"SLURM_JOB_ID", "77"}};
  for (const auto& [node, tasks] : {std::pair{"0", 2}, {"2", 2}, {"3", 1}, {"4", 2}}) {
    Variables variables = common;
    variables["SLURM_NODEID"] = node;
    variables["SLURM_PROCID"] = "4";
    expect(ranks_in(variables), 4, 9, 0, tasks);
  }
}

TEST_F(Launcher, Pals) {
  const Result<Ranks> ranks = ranks_in({{"PALS_RANKID", "1"},
                                        {"PALS_SIZE", "2"},
                                        {"PALS_LOCAL_RANKID", "0"},
                                        {"PALS_LOCAL_SIZE", "1"},
                                        {"PALS_APID", "abc"}});
  expect(ranks, 1, 2, 0, 1);
  EXPECT_EQ(ranks->session, "pals-abc");
}

TEST_F(Launcher, ASessionThatTheUserChoosesWins) {
  EXPECT_EQ(ranks_in({{"LEAT_SESSION", "mine"}})->session, "mine");
  EXPECT_FALSE(ranks_in({{"LEAT_SESSION", "../mine"}}));
}

TEST_F(Launcher, NumbersThatMakeNoSenseAreRefused) {
  EXPECT_FALSE(ranks_in(
      {{"PMI_RANK", "3"}, {"PMI_SIZE", "3"}, {"MPI_LOCALRANKID", "0"}, {"MPI_LOCALNRANKS", "1"}}));
}

}  // namespace
}  // namespace leat::client

// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/client/launcher_environment.hpp"

namespace leat::client {
namespace {

using Launcher = LauncherEnvironment;

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

TEST_F(Launcher, Pals) {
  const Result<Ranks> ranks = ranks_in({{"PMI_RANK", "1"},
                                        {"PMI_SIZE", "2"},
                                        {"PMI_LOCAL_RANK", "0"},
                                        {"PMI_LOCAL_SIZE", "1"},
                                        {"PALS_RANKID", "1"},
                                        {"PALS_APID", "abc"}});
  expect(ranks, 1, 2, 0, 1);
  EXPECT_EQ(ranks->session, "pals-abc");
}

TEST_F(Launcher, PalsWithoutLocalNumbersOfPmi) {
  const Result<Ranks> ranks = ranks_in({{"PMI_SIZE", "4"},
                                        {"PALS_RANKID", "3"},
                                        {"PALS_LOCAL_RANKID", "1"},
                                        {"PALS_LOCAL_SIZE", "2"},
                                        {"PALS_APID", "abc"}});
  expect(ranks, 3, 4, 1, 2);
}

TEST_F(Launcher, OfTheInnermostCounts) {
  expect(ranks_in({{"OMPI_COMM_WORLD_RANK", "0"},
                   {"OMPI_COMM_WORLD_SIZE", "2"},
                   {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                   {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                   {"SLURM_PROCID", "0"},
                   {"SLURM_STEP_NUM_TASKS", "1"},
                   {"SLURM_LOCALID", "0"},
                   {"SLURM_STEP_TASKS_PER_NODE", "1"}}),
         0, 2, 0, 2);
}

TEST_F(Launcher, LongNamesOfRunsStayApart) {
  const std::string host(100, 'h');
  std::string sessions[2];
  for (int run = 0; run < 2; ++run) {
    const Result<Ranks> ranks =
        ranks_in({{"OMPI_COMM_WORLD_RANK", "0"},
                  {"OMPI_COMM_WORLD_SIZE", "1"},
                  {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                  {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"},
                  {"PMIX_NAMESPACE", "prterun-" + host + "-4711@" + std::to_string(run)}});
    ASSERT_TRUE(ranks);
    sessions[run] = ranks->session;
  }
  EXPECT_NE(sessions[0], sessions[1]);
  EXPECT_EQ(sessions[0].size(), 64u);
}

TEST_F(Launcher, ASessionThatTheUserChoosesWins) {
  EXPECT_EQ(ranks_in({{"LEAT_SESSION", "mine"}})->session, "mine");
  EXPECT_FALSE(ranks_in({{"LEAT_SESSION", "../mine"}}));
}

TEST_F(Launcher, ARankThatKnowsNothingOfItsNodeIsNotTakenForAlone) {
  const Result<Ranks> second = ranks_in({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}});
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("PMI_RANK=1"), std::string::npos);
  EXPECT_NE(second.error().message.find("leat_init_mpi"), std::string::npos);
}

TEST_F(Launcher, NumbersThatMakeNoSenseAreRefused) {
  EXPECT_FALSE(ranks_in(
      {{"PMI_RANK", "3"}, {"PMI_SIZE", "3"}, {"MPI_LOCALRANKID", "0"}, {"MPI_LOCALNRANKS", "1"}}));
  for (const Ranks& ranks : {Ranks{-1, 2, 0, 1, "s"}, Ranks{0, 0, 0, 0, "s"},
                             Ranks{0, 1, 1, 1, "s"}, Ranks{0, 2, 0, 3, "s"}}) {
    EXPECT_EQ(complete_ranks(ranks).error().status, Status::ERROR_ARGUMENT);
  }
}

}  // namespace
}  // namespace leat::client

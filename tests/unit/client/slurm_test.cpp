// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/client/launcher_environment.hpp"

namespace leat::client {
namespace {

using Slurm = LauncherEnvironment;

TEST_F(Slurm, TellsRankAndNode) {
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

TEST_F(Slurm, WithUnevenNodes) {
  const Environment common = {{"SLURM_STEP_NUM_TASKS", "9"},
                              {"SLURM_LOCALID", "0"},
                              {"SLURM_STEP_TASKS_PER_NODE", "2(x3),1,2"},
                              {"SLURM_JOB_ID", "77"}};
  for (const auto& [node, tasks] : {std::pair{"0", 2}, {"2", 2}, {"3", 1}, {"4", 2}}) {
    Environment variables = common;
    variables["SLURM_NODEID"] = node;
    variables["SLURM_PROCID"] = "4";
    expect(ranks_in(variables), 4, 9, 0, tasks);
  }
}

TEST_F(Slurm, WithOneTaskPerNodeGivesAPlainNumber) {
  expect(ranks_in({{"SLURM_PROCID", "2"},
                   {"SLURM_STEP_NUM_TASKS", "3"},
                   {"SLURM_LOCALID", "0"},
                   {"SLURM_STEP_TASKS_PER_NODE", "1"},
                   {"SLURM_NODEID", "2"},
                   {"SLURM_JOB_ID", "77"}}),
         2, 3, 0, 1);
}

TEST_F(Slurm, WithAListThatIsTooShortOrNoListIsNotBelieved) {
  Environment variables = {{"SLURM_PROCID", "7"},
                           {"SLURM_STEP_NUM_TASKS", "9"},
                           {"SLURM_LOCALID", "0"},
                           {"SLURM_NODEID", "9"},
                           {"SLURM_JOB_ID", "77"}};
  for (const char* list : {"2(x3),1", "", "(x", "x3", "2(x3", ",,"}) {
    variables["SLURM_STEP_TASKS_PER_NODE"] = list;
    EXPECT_FALSE(ranks_in(variables)) << list;
  }
}

TEST_F(Slurm, MakesTheScriptOfABatchJobNoRankOfAStep) {
  expect(ranks_in({{"SLURM_PROCID", "0"}, {"SLURM_LOCALID", "0"}, {"SLURM_JOB_ID", "77"}}), 0, 1, 0,
         1);
}

}  // namespace
}  // namespace leat::client

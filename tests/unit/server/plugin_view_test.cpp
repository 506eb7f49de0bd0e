// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstddef>

#include "server/pipeline/plugin_instance.hpp"

namespace leat::server {
namespace {

TEST(PluginView, SaysThatTheStoresWereOpenInAServerThatDied) {
  model::Model model;
  model.stores.emplace_back();
  for (const bool resumed : {false, true}) {
    RunFacts facts;
    facts.resumed = resumed;
    const leat_run run = PluginView(model, facts).run_for(0);
    EXPECT_EQ(leat_run_is_resumed(&run), resumed ? 1 : 0);
  }
}

TEST(PluginView, AHostFromBeforeThereWasSuchAThingResumesNothing) {
  leat_run run{};
  run.size = offsetof(leat_run, resumed);
  run.resumed = 1;
  EXPECT_EQ(leat_run_is_resumed(&run), 0);
}

}  // namespace
}  // namespace leat::server

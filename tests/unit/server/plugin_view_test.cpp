// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstddef>

#include "server/include/plugin.hpp"
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

TEST(PluginView, GivesABlockItsLevelAndTheMeshItsRatio) {
  Block block;
  EXPECT_EQ(level_of(block_of(block)), std::nullopt);
  block.level = 0;
  block.position = {4, -8};
  const leat_block view = block_of(block);
  EXPECT_EQ(level_of(view), 0);
  EXPECT_EQ(view.has_position, 0) << "that would be in the global array";
  EXPECT_EQ(view.position[1], -8);
  model::Model model;
  model.stores.emplace_back();
  model::Mesh& mesh = model.meshes.emplace_back();
  mesh.kind = model::Mesh::Kind::amr;
  mesh.ratio = 4;
  mesh.levels = 3;
  const PluginView of_run(model, {});
  const leat_run run = of_run.run_for(0);
  EXPECT_EQ(leat_mesh_at(&run, 0)->kind, static_cast<std::uint32_t>(LEAT_MESH_AMR));
  EXPECT_EQ(leat_mesh_at(&run, 0)->ratio, 4);
  EXPECT_EQ(leat_mesh_at(&run, 0)->levels, 3);
}

}  // namespace
}  // namespace leat::server

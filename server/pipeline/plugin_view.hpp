// SPDX-License-Identifier: Apache-2.0
// The one conversion to the structs of the plugin ABI: of the model, of blocks and of products. All
// of it points into what it is made of.
#pragma once

#include <vector>

#include "lib/model/model.hpp"
#include "server/include/plugin.h"
#include "server/state/iterations/iteration.hpp"
#include "server/state/run.hpp"

namespace leat::server {

/// The model in the terms of the plugin ABI. Points into the model, which must outlive it.
class PluginView {
 public:
  PluginView(const model::Model& model, const RunFacts& facts);
  leat_run run_for(std::uint32_t store) const;
  /// For plugins that communicate.
  const ServerMpi& mpi() const noexcept { return facts_.mpi; }
  /// Point into the iteration.
  std::vector<leat_parameter> parameters_of(const Iteration& iteration) const;
  /// As they lie in the iteration; none where the XML alone says it.
  std::vector<leat_mesh> meshes_of(const Iteration& iteration) const;

 private:
  const model::Model& model_;
  const RunFacts& facts_;
  std::vector<std::vector<leat_option>> variable_options_, store_options_;
  std::vector<leat_mesh> meshes_;
  std::vector<leat_variable> variables_;
};

leat_block block_of(const Block& block);
leat_result result_of(const Product& product);

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// What of a run is done on the nodes of its simulation, and what on nodes of their own.
#pragma once

#include <string>

#include "lib/model/model.hpp"

namespace leat::model {

/// The store of a node by which blocks go to staging nodes: its name, and its type.
inline constexpr const char* kToStaging = "to-staging";

/// Some store or script works on staging nodes.
bool has_staging(const Model& model);

/// What of it the server of a node of this kind does. On a node of the simulation a store called kToStaging takes what staging
/// nodes want; there is none of it without staging. Variables, layouts, meshes, parameters and events keep their numbers.
/// `config`: path of the XML, for a program that reads it again.
Model part_of(Model model, At at, const std::string& config);

}  // namespace leat::model

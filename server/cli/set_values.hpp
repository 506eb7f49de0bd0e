// SPDX-License-Identifier: Apache-2.0
// leat check --set nx=256,dx=0.1: parameters as the simulation would set them, and what is then known of places.
#pragma once

#include <string>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/model/diagnostics.hpp"
#include "lib/model/expression_parser.hpp"
#include "lib/model/model.hpp"

namespace leat::cli {

/// The model has these values from now on. Returns which were set: of parameters that are no integers, 0.
Result<model::IntegerValues::Overrides> set_values(const std::vector<std::string>& said,
                                                   model::Model& model);
/// Meshes that parameters place, and positions of blocks, as far as they are known.
void judge_placing(const model::Model& model, const model::IntegerValues& known,
                   std::vector<model::Diagnostic>* to);

}  // namespace leat::cli

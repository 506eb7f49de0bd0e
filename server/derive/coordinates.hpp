// SPDX-License-Identifier: Apache-2.0
// Where values lie along a dimension, as this server knows it: of a uniform mesh, or what its ranks have written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/model/model.hpp"
#include "server/derive/block_inputs.hpp"

namespace leat::server {

/// Elements of dimension `d` of the whole that the block is of, without ghosts.
std::int64_t whole_length(const model::Layout& layout, const Block& block, std::size_t d);

/// Of `count` places of the whole; NaN where none is known here.
std::vector<double> coordinates_along(const model::Model& model, const DerivedFrom& from,
                                      const model::Axis& axis, std::int64_t count);

/// Why nothing is selected.
struct NotSelected {
  std::string why;
  bool is_unknown = false;  ///< something may be there: this server cannot tell
};

/// What is selected in this iteration, by dimension, with indices for places and ranges. Or why there is nothing.
std::optional<NotSelected> select_now(const model::Model& model, const DerivedFrom& from,
                                      const model::Derived& derived,
                                      std::vector<model::Selected>* parts);

}  // namespace leat::server

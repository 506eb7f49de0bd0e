// SPDX-License-Identifier: Apache-2.0
// Inputs of expressions that are computed of values beside each other, also where blocks meet: d(u, x), mid(u, x), and what
// select="z=100 m linear" is between.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/model/model.hpp"
#include "server/derive/block_inputs.hpp"
#include "server/derive/gradient.hpp"
#include "server/derive/neighbours.hpp"

namespace leat::server {

class InputsOfNeighbours {
 public:
  /// For one iteration, in which `parts` are selected. All outlive it.
  InputsOfNeighbours(const model::Model& model, const DerivedFrom& from,
                     const model::Derived& derived, const std::vector<model::Selected>& parts);

  /// The last values of a block along the dimension are the first ones of others, too: of mid(u, x), as of faces that two ranks write.
  bool shares_last() const noexcept { return shares_last_; }
  /// Puts them in the place of those that `inputs` has for what is made of the block `of`, of these extents; they live as long as `computed`.
  /// "", or why they are not known.
  std::string compute(const Block& of, const std::vector<std::int64_t>& extents,
                      std::vector<ArrayInput>* inputs,
                      std::vector<std::shared_ptr<const std::vector<double>>>* computed) const;

 private:
  std::string middle(const Block& of, const std::vector<std::int64_t>& extents,
                     std::vector<double>* values) const;
  std::string between(std::uint32_t variable, const Block& of, ArrayInput* input,
                      std::vector<double>* values) const;
  Neighbours neighbours_of(std::uint32_t variable) const {
    return {model_.layouts[model_.variables[variable].layout], from_.blocks.at(variable)};
  }

  const model::Model& model_;
  const DerivedFrom& from_;
  const model::Derived& derived_;
  const std::vector<model::Selected>& parts_;
  std::optional<Gradient> gradient_;
  bool shares_last_ = false;
};

}  // namespace leat::server

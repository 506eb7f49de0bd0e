// SPDX-License-Identifier: Apache-2.0
// d(u, x): the derivative of an array along one of its dimensions, also where blocks meet.
//
// In the middle it is of second order, with the places of both neighbours, or, where all steps are the same, the one step; at both ends of the whole it is the difference of two. Sources:
// the formulas are those of numpy.gradient with edge_order=1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/model/model.hpp"
#include "server/derive/block_inputs.hpp"
#include "server/derive/neighbours.hpp"

namespace leat::server {

class Gradient {
 public:
  /// For one iteration: of what `derived` is made of, along a dimension of it. All outlive it.
  Gradient(const model::Model& model, const DerivedFrom& from, const model::Derived& derived);

  /// Of the part of the block that is no ghost, in C order. "", or why it is not known.
  std::string compute(const Block& of, std::vector<double>* result) const;

 private:
  struct Row {
    const double *below, *here, *above;
    double* out;
    std::int64_t count;
  };
  void differentiate(std::int64_t index, const Row& row) const;
  std::string look_at_places(std::int64_t begin, std::int64_t end) const;

  const model::Layout& layout_;
  Neighbours neighbours_;
  std::size_t along_;
  std::vector<double> places_;  // of the whole
  std::optional<double> step_;  // from each of them to the next, where that is the same
};

}  // namespace leat::server

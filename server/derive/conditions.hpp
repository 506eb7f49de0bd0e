// SPDX-License-Identifier: Apache-2.0
// when="...": whether conditions hold in an iteration. Each is looked at as late as can be: what stands in it has been made by then.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "lib/model/model.hpp"
#include "server/derive/evaluation.hpp"
#include "server/derive/making.hpp"

namespace leat::server {

class Conditions {
 public:
  explicit Conditions(const model::Model& model);

  /// Before all else of an iteration.
  void begin();
  /// By every="..." and when="..." of the period.
  bool is_due(std::uint32_t period, Making* making);
  /// After all that is made.
  void settle_rest(Making* making);

 private:
  void settle(std::uint32_t period, Making* making);
  bool holds(std::uint32_t period, const Making& making);

  const model::Model& model_;
  std::map<std::uint32_t, Evaluation> evaluations_;  // by period
  std::set<std::uint32_t> unsettled_;                // periods, of this iteration
};

}  // namespace leat::server

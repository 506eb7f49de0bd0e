// SPDX-License-Identifier: Apache-2.0
// Physical units, as UDUNITS knows them: what an expression over quantities has, and how values go from one unit to another. What it does not
// know is no error anywhere: codes have units of their own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/model/array_expression.hpp"
#include "lib/model/axis.hpp"

namespace leat::model {

struct UnitFinding {
  std::string unit;     ///< "" where it is not known
  std::string problem;  ///< what makes no sense together; "" where all does
};

/// The library's own lists are read at the first call: from one thread.
class PhysicalUnits {
 public:
  PhysicalUnits();
  ~PhysicalUnits();
  PhysicalUnits(const PhysicalUnits&) = delete;

  /// False where it cannot be told, too.
  bool is_unit(const std::string& text) const;
  /// As it is written everywhere else: "m.s-1" of "(m)/(s)"; `text` where it is no unit.
  std::string text_of(const std::string& text) const;
  /// Nothing where one is no unit, they are of different quantities, or one is a logarithm.
  std::optional<UnitChange> change(const std::string& from, const std::string& to) const;
  /// `units`: of the inputs of the expression; "" for one that has none, whose results have none then.
  UnitFinding of(const ArrayExpression& expression, const std::vector<std::string>& units) const;

 private:
  struct System;
  System* system_;
};

}  // namespace leat::model

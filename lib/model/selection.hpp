// SPDX-License-Identifier: Apache-2.0
// select="z=10, y=2:8:2" of a <variable>: which part of an array is kept.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/expression.hpp"
#include "lib/base/status.hpp"
#include "lib/model/axis.hpp"

namespace leat::model {

struct Parameter;

struct Expression {
  std::string text;  ///< as written
  std::vector<ExpressionOp> program;

  bool uses(std::uint32_t parameter) const noexcept {
    return std::any_of(program.begin(), program.end(), [parameter](const ExpressionOp& op) {
      return op.kind == ExpressionOp::parameter && op.index == parameter;
    });
  }
  bool operator==(const Expression& other) const { return text == other.text; }
};

/// A place that is known when the run is: where a parameter says, or where coordinates that ranks write lie.
struct SelectedPlace {
  std::optional<std::uint32_t> parameter;  ///< its value, else `value`
  double value = 0;
  std::optional<Axis>
      axis;           ///< of which it is a coordinate, the nearest one counts; none: it is an index
  UnitChange change;  ///< of the value, to the unit of the axis
  bool is_linear = false;  ///< the value is between those of both neighbours

  bool operator==(const SelectedPlace&) const = default;
};

/// Indices whose coordinates, which ranks write, lie between two, both of which count.
struct SelectedRange {
  double low = 0, high = 0;  ///< in the unit of the axis
  Axis axis;

  bool operator==(const SelectedRange&) const = default;
};

/// Of one dimension: indices `first`, `first + step`, ... below `end`, of the whole array, without ghosts.
struct Selected {
  std::int64_t first = 0;
  std::optional<std::int64_t> end;  ///< nothing: all that there are
  std::int64_t step = 1;
  bool is_one = false;                 ///< one index: the dimension is not there any more
  std::optional<SelectedPlace> place;  ///< of `is_one`, in place of `first`
  std::optional<SelectedRange> range;  ///< in place of `first` and `end`
  /// Of parameters, "nz/2", in place of `first` and `end`.
  std::optional<Expression> first_of, end_of;
  bool moves = false;  ///< of `is_one`: it may be another one in each iteration
  double beside =
      0;  ///< of a linear place, in one iteration: how far from `first` to the next index it is, 0 to 1

  bool operator==(const Selected&) const = default;
  bool is_all() const noexcept {
    return first == 0 && !end && step == 1 && !is_one && !range && !first_of && !end_of;
  }
};

/// "100 m", "probe" or "probe m": a number or a parameter, and the unit of a coordinate.
struct PlaceText {
  std::string parameter;  ///< "" where it is a number
  double number = 0;
  std::string unit;
  bool is_linear = false;
};

struct SelectedDimension {
  std::string name;
  Selected what;
  std::vector<PlaceText>
      places;  ///< none; one, instead of an index; or begin and end of a range of coordinates
};

/// "NAME=INDEX", or "NAME=FIRST:END" and "NAME=FIRST:END:STEP" as in Python, where each number may be left out, and all but STEP may be
/// an expression of integer `parameters`, "nz/2"; "NAME=100 m" and "NAME=100 m:200 m",
/// coordinates; "NAME=100 m linear", between two of them; "NAME=probe" or "NAME=probe m", a parameter; with commas between. The error says what is wrong, and what is possible.
Result<std::vector<SelectedDimension>> parse_selection(const std::string& text,
                                                       const std::vector<Parameter>& parameters);

}  // namespace leat::model

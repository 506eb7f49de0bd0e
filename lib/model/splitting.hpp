// SPDX-License-Identifier: Apache-2.0
// split="..." of a store: which of its files a row goes into.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/status.hpp"
#include "lib/model/calendar.hpp"
#include "lib/model/every.hpp"
#include "lib/model/marks.hpp"

namespace leat::model {

/// "1000", "every 1000", "6 h", "1 mo": one period of `every`, of iterations or of the time of the simulation. The error says what was
/// found, and what to write.
Result<Every> parse_split(std::string_view text);

/// Of the time that one file has.
struct SplitPeriod {
  double begin = 0;  ///< by which they are ordered: a time, or the number of an iteration
  std::string
      name;  ///< "2000-01", "2000-01-01T060000", "000003"; of later ones greater, as texts too
};

/// Files begin where `every` has its marks. What becomes of a row hangs on that row alone, so that all servers, and all that go on
/// after them, come to the same.
class Splitting {
 public:
  /// `split` of parse_split(), of which why_no_marks() says nothing.
  Splitting(const Every& split, const Calendar& calendar);

  bool is_of_iterations() const { return iterations_ > 0; }
  SplitPeriod of_iteration(std::int64_t iteration) const;
  /// `step`: to the time before, 0 where there is none. Nothing for a time that is no number.
  std::optional<SplitPeriod> of_time(double time, double step) const;
  /// Of what is over a time: that in which it ends; when it ends at a mark, that which ends there.
  std::optional<SplitPeriod> of_window(double begin, double end) const;

 private:
  std::optional<SplitPeriod> at(double mark) const;
  std::string name_of(double mark) const;

  Period period_;
  Calendar calendar_;
  Marks marks_;
  std::int64_t iterations_;
};

}  // namespace leat::model

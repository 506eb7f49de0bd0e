// SPDX-License-Identifier: Apache-2.0
// select="z=10, y=2:8:2" of a <variable>: which part of an array is kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/status.hpp"

namespace leat::model {

/// Of one dimension: indices `first`, `first + step`, ... below `end`, of the whole array, without ghosts.
struct Selected {
  std::int64_t first = 0;
  std::optional<std::int64_t> end;  ///< nothing: all that there are
  std::int64_t step = 1;
  bool is_one = false;  ///< one index: the dimension is not there any more

  bool operator==(const Selected&) const = default;
  bool is_all() const noexcept { return first == 0 && !end && step == 1 && !is_one; }
};

struct SelectedDimension {
  std::string name;
  Selected what;
};

/// "NAME=INDEX", or "NAME=FIRST:END" and "NAME=FIRST:END:STEP" as in Python, where each number may be left out; with commas between. The
/// error says what is wrong, and what is possible.
Result<std::vector<SelectedDimension>> parse_selection(const std::string& text);

}  // namespace leat::model

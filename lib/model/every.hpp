// SPDX-License-Identifier: Apache-2.0
// How often something is done, as it stands in the XML: "10", "6 h", "10 min wall", "1 h for 5 d, then 3 h".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.hpp"
#include "lib/model/units.hpp"

namespace leat::model {

/// count / 10^decimals units of time, or iterations. Months and years are whole.
struct Period {
  std::int64_t count = 1;
  int decimals = 0;
  std::optional<TimeUnit> unit;  ///< nothing: iterations

  bool operator==(const Period&) const = default;
};

struct Every {
  /// last: when the run is over. run: that, and the whole run is one period.
  enum class Clock { iterations, simulation, wall, first, last, run };

  struct Phase {
    Period period;
    std::optional<Period> length;  ///< the last phase goes on

    bool operator==(const Phase&) const = default;
  };

  Clock clock = Clock::iterations;
  std::vector<Phase> phases;  ///< none for first, last and run
  std::string condition{};    ///< "", or what has to hold besides, as when="..." has it

  bool operator==(const Every&) const = default;
};

/// every := first | last | run | period | phases ; phases := period for period, then {period for period,
/// then} period ; period := number [unit [wall]]. All periods of one text are of one clock. Numbers
/// have at most 15 digits and 9 decimals. The error says what was found, and what is possible.
Result<Every> parse_every(std::string_view text);

/// What parse_every() reads as the same, in the shortest words: "6 h", "1 h for 5 d, then 3 h"; and the condition, "10 when max(T) > 5".
std::string to_text(const Every& every);
/// For the name of a file, behind `word`: "every-6h", "every-1mo", "every-1h-5d-3h", "every-10min-wall", "when-max-T-gt-5".
std::string file_name_text(const Every& every, const std::string& word);

/// What is done then is done once, when nothing comes any more.
bool is_at_end(const Every& every) noexcept;
/// N of one that is N iterations and nothing else, no condition either; 0 for others.
std::int64_t iterations_of(const Every& every);
/// Seconds of a period of fixed length; nothing for iterations, months and years.
std::optional<double> seconds_of(const Period& period);

}  // namespace leat::model

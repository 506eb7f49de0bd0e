// SPDX-License-Identifier: Apache-2.0
// What `leat top` makes of what a server says: rates, history, forecasts, who waits for whom. Pure functions of answers of the
// control channel and the times at which they came.
#pragma once

#include <cstdint>
#include <deque>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace leat::cli::top {

using Json = nlohmann::ordered_json;

/// What one server has said; null where it has not been asked or has not answered.
struct Answers {
  Json status, metrics, parameters, run;
};

/// A store or a script.
struct PipelineNode {
  std::string name, kind;  ///< "store" or "script"
  std::uint64_t calls = 0, skipped = 0;
  std::optional<std::uint64_t> failed{};     ///< of a script
  std::uint64_t behind = 0;                  ///< iterations that wait for it
  std::optional<double> calls_per_second{};  ///< recently
  std::optional<double> seconds_per_call{};  ///< recently, or of all calls where there was none
  std::optional<double> share{};             ///< of the last seconds it was at work
  std::uint64_t bytes = 0;                   ///< of a store
  bool usable = true;                        ///< of a script
  std::string why{};                         ///< its first failure
};

struct Figures {
  std::optional<double> iterations_per_minute{}, bytes_per_second{};
  std::uint64_t used_bytes = 0, buffer_bytes = 0;
  std::optional<double> full_in_seconds{};  ///< when the buffer goes on filling as it does
  std::optional<double> waited_share{};     ///< of the ranks' time lately, for buffer space
  std::vector<PipelineNode> nodes{};
};

// The last ten minutes of one server. Another server begins anew.
class History {
 public:
  /// `at`: seconds, of any clock that does not go back.
  void add(double at, const Answers& answers);
  void clear() { points_.clear(); }

  Figures figures(const Answers& answers) const;
  /// Filled shares of the buffer in the last `seconds`, oldest first: the most of each of `columns` equal parts;
  /// nothing where it is not known.
  std::vector<std::optional<double>> fills(std::size_t columns, double seconds) const;

 private:
  struct Work {
    std::uint64_t calls = 0;
    double seconds = 0;
  };
  struct Point {
    double at = 0, uptime = 0;
    std::uint64_t complete = 0, bytes = 0, used_bytes = 0, buffer_bytes = 0, ranks = 0;
    double waited_seconds = 0;
    std::vector<std::pair<std::string, Work>> work;  // "store out"
  };
  static Point point_of(double at, const Answers& answers);
  const Point* before(double seconds) const;
  const Point* for_rate() const;
  std::optional<double> full_in() const;
  PipelineNode node_of(const Json& each, const char* kind, const Point* since) const;

  std::deque<Point> points_;
};

/// When the iterations that are left of `of` will have been computed, at this rate.
std::optional<double> seconds_left(std::uint64_t of, const Answers& answers,
                                   const Figures& figures);

/// Who waits for whom, a sentence for each; empty where nobody does and nothing is known.
std::vector<std::string> waits(const Answers& answers, const Figures& figures);

/// The iteration that the slowest rank is in; null: none is left.
std::optional<std::int64_t> slowest_iteration(const Json& status);

}  // namespace leat::cli::top

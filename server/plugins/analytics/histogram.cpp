// SPDX-License-Identifier: Apache-2.0
// A histogram of each variable in each iteration, over what the ranks of this node own: products
// "<variable>_histogram" (bins), numbers of values; "<variable>_edges" (bins + 1); "_below" and
// "_above", how many were outside, and "_not_finite".
//
// Options: bins (64); min and max, else the least and the greatest value of the iteration. As of
// numpy.histogram, a bin holds its lower edge and not its upper one, but the last holds both.
#include <cmath>
#include <limits>
#include <map>

#include "server/plugins/analytics/options.hpp"
#include "server/plugins/analytics/values.hpp"

namespace leat::analytics {
namespace {

constexpr double kMost = std::numeric_limits<double>::max();

struct Range {
  double min = kMost, max = -kMost;
};

// As numpy.linspace makes them.
std::vector<double> edges_of(Range range, std::size_t bins) {
  if (range.min == range.max) range = {range.min - .5, range.max + .5};
  const double step = (range.max - range.min) / static_cast<double>(bins);
  std::vector<double> edges;
  for (std::size_t i = 0; i < bins; ++i) edges.push_back(static_cast<double>(i) * step + range.min);
  edges.push_back(range.max);
  return edges;
}

struct Counts {
  std::vector<std::int64_t> bins;
  std::int64_t below = 0, above = 0, not_finite = 0;

  void add(const Counts& other) {
    for (std::size_t i = 0; i < bins.size(); ++i) bins[i] += other.bins[i];
    below += other.below;
    above += other.above;
    not_finite += other.not_finite;
  }
};

Counts counts_of(const Piece& piece, const std::vector<double>& edges) {
  Counts all{std::vector<std::int64_t>(edges.size() - 1)};
  const std::size_t last = all.bins.size() - 1;
  const double scale = static_cast<double>(all.bins.size()) / (edges.back() - edges.front());
  for_each_run(piece, [&](const auto* values, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto value = static_cast<double>(values[i]);
      if (!std::isfinite(value)) {
        ++all.not_finite;
      } else if (value < edges.front()) {
        ++all.below;
      } else if (value > edges.back()) {
        ++all.above;
      } else {
        std::size_t bin = std::min(last, static_cast<std::size_t>((value - edges.front()) * scale));
        while (bin > 0 && value < edges[bin]) --bin;  // what was rounded
        while (bin < last && value >= edges[bin + 1]) ++bin;
        ++all.bins[bin];
      }
    }
  });
  return all;
}

class Histogram {
 public:
  Histogram(const leat_run& run, Host host)
      : run_(run),
        host_(host),
        bins_(static_cast<std::size_t>(whole_option(run, "bins", 64, 1, 1 << 16))),
        min_(number_option(run, "min", -kMost, kMost)),
        max_(number_option(run, "max", -kMost, kMost)) {
    if (min_ && max_ && *min_ >= *max_)
      throw std::invalid_argument("option min has to be less than option max");
  }

  std::uint64_t begin(const leat_iteration_data& data) {
    pieces_ = pieces_of(run_, data);
    found_.assign(pieces_.size(), {});
    edges_.clear();
    std::map<const leat_variable*, Range> ranges;
    for (const Piece& piece : pieces_) {
      Range& range = ranges[piece.variable];
      if (!min_ || !max_) widen(piece, &range);
    }
    for (const auto& [variable, range] : ranges)
      edges_[variable] = edges_of(fitted(*variable, range), bins_);
    return pieces_.size();
  }

  void chunk(std::uint64_t number) {
    const Piece& piece = pieces_[number];
    found_[number] = counts_of(piece, edges_.at(piece.variable));
    host_.progress(piece.count);
  }

  void finish() {
    std::map<const leat_variable*, Counts> all;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      Counts& counts = all[pieces_[i].variable];
      counts.bins.resize(bins_);
      counts.add(found_[i]);
    }
    Products products;
    for (auto& [variable, counts] : all)
      add(*variable, std::move(edges_.at(variable)), std::move(counts), products);
    if (!products.empty()) host_.publish(std::move(products));
  }

  void close() {}

 private:
  // Of the values, as the options want it.
  Range fitted(const leat_variable& variable, Range range) const {
    if (min_) range.min = *min_;
    if (max_) range.max = *max_;
    if (range.min > range.max) range = {min_.value_or(max_ ? *max_ - 1 : 0), range.max};
    if (range.min > range.max) range.max = range.min + 1;
    if (!std::isfinite(range.max - range.min))
      throw std::runtime_error(std::string("the values of ") + variable.name +
                               " span more than a double holds: give options min and max");
    return range;
  }

  static void widen(const Piece& piece, Range* range) {
    for_each_run(piece, [&](const auto* values, std::uint64_t count) {
      for (std::uint64_t i = 0; i < count; ++i) {
        const auto value = static_cast<double>(values[i]);
        if (!std::isfinite(value)) continue;
        range->min = std::min(range->min, value);
        range->max = std::max(range->max, value);
      }
    });
  }

  void add(const leat_variable& variable, std::vector<double> edges, Counts all,
           Products& products) const {
    const std::string name = product_name(variable);
    const auto bins = static_cast<std::int64_t>(bins_);
    products.add(name + "_histogram", std::move(all.bins), {{name + "_bin", bins}});
    products.add(name + "_edges", std::move(edges), {{name + "_edge", bins + 1}}, variable.unit);
    products.add(name + "_below", all.below);
    products.add(name + "_above", all.above);
    products.add(name + "_not_finite", all.not_finite);
  }

  const leat_run& run_;
  Host host_;
  std::size_t bins_;
  std::optional<double> min_, max_;
  std::vector<Piece> pieces_;
  std::vector<Counts> found_;  // by piece
  std::map<const leat_variable*, std::vector<double>> edges_;
};

LEAT_PLUGIN(Histogram, "histogram")

}  // namespace
}  // namespace leat::analytics

// SPDX-License-Identifier: Apache-2.0
// A histogram of each variable in each iteration, over what all ranks of the run own: products
// "<variable>_histogram" (bins), numbers of values; "<variable>_edges" (bins + 1); "_below" and
// "_above", how many were outside, and "_not_finite". Where there are several servers the first of
// them publishes, and "<variable>_servers_missing" is how many gave nothing.
//
// Options: bins (64); min and max, else the least and the greatest value of the iteration; scope="node": of
// this server alone. As of numpy.histogram, a bin holds its lower edge and not its upper one, but the last holds
// both. With several servers, and without min or max, values are copied until all have said theirs.
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>

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

template <class T>
void count_values(const T* values, std::uint64_t count, const std::vector<double>& edges,
                  Counts* all) {
  const std::size_t last = all->bins.size() - 1;
  const double scale = static_cast<double>(all->bins.size()) / (edges.back() - edges.front());
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto value = static_cast<double>(values[i]);
    if (!std::isfinite(value)) {
      ++all->not_finite;
    } else if (value < edges.front()) {
      ++all->below;
    } else if (value > edges.back()) {
      ++all->above;
    } else {
      std::size_t bin = std::min(last, static_cast<std::size_t>((value - edges.front()) * scale));
      while (bin > 0 && value < edges[bin]) --bin;  // what was rounded
      while (bin < last && value >= edges[bin + 1]) ++bin;
      ++all->bins[bin];
    }
  }
}

Counts counts_of(const Piece& piece, const std::vector<double>& edges) {
  Counts all{std::vector<std::int64_t>(edges.size() - 1)};
  for_each_run(piece, [&](const auto* values, std::uint64_t count) {
    count_values(values, count, edges, &all);
  });
  return all;
}

// Of each variable that an iteration may have.
using Edges = std::map<const leat_variable*, std::vector<double>>;
using Ranges = std::map<const leat_variable*, Range>;
using CountsOf = std::map<const leat_variable*, Counts>;

// Values of an iteration whose range is that of the whole run, until that is known.
struct Kept {
  std::vector<const leat_variable*> variables;  // by piece
  std::vector<std::vector<double>> values;
};

class Histogram {
 public:
  Histogram(const leat_run& run, Host host)
      : run_(run),
        host_(host),
        scope_(scope_of(run)),
        bins_(static_cast<std::size_t>(whole_option(run, "bins", 64, 1, 1 << 16))),
        min_(number_option(run, "min", -kMost, kMost)),
        max_(number_option(run, "max", -kMost, kMost)),
        variables_(numeric_variables(run)) {
    if (min_ && max_ && *min_ >= *max_)
      throw std::invalid_argument("option min has to be less than option max");
    if (scope_ == Scope::run && !host_.can_reduce())
      throw std::runtime_error(
          "it goes over all servers of the run, which it cannot in a process of its own: leave out "
          "runs=\"...\", or write <option "
          "name=\"scope\" value=\"node\"/>");
  }

  std::uint64_t begin(const leat_iteration_data& data) {
    pieces_ = pieces_of(run_, data);
    found_.assign(pieces_.size(), {});
    kept_ = waits_for_range() ? std::make_shared<Kept>() : nullptr;
    edges_.clear();
    ranges_.clear();
    for (const Piece& piece : pieces_) {
      Range& range = ranges_[piece.variable];
      if (!min_ || !max_) widen(piece, &range);
    }
    if (kept_) {
      kept_->values.resize(pieces_.size());
      for (const Piece& piece : pieces_) kept_->variables.push_back(piece.variable);
    } else {
      edges_ = edges_of_all(ranges_);
    }
    return pieces_.size();
  }

  void chunk(std::uint64_t number) {
    const Piece& piece = pieces_[number];
    if (kept_)
      kept_->values[number] = values_of(piece);
    else
      found_[number] = counts_of(piece, edges_.at(piece.variable));
    host_.progress(piece.count);
  }

  void finish() {
    if (kept_) return reduce_ranges();
    CountsOf all;
    for (std::size_t i = 0; i < pieces_.size(); ++i) add(found_[i], &all[pieces_[i].variable]);
    if (scope_ == Scope::run) return reduce_counts(all, edges_);
    Products products;
    for (auto& [variable, counts] : all) add(*variable, edges_.at(variable), counts, &products);
    if (!products.empty()) host_.publish(std::move(products));
  }

  void close() {}

 private:
  // The range of the run is not known before other servers have said theirs.
  bool waits_for_range() const {
    return scope_ == Scope::run && has_other_servers(run_) && !(min_ && max_);
  }

  void reduce_ranges() {
    if (variables_.empty()) return;
    std::vector<double> least, greatest;
    for (const leat_variable* const variable : variables_) {
      least.push_back(ranges_[variable].min);
      greatest.push_back(ranges_[variable].max);
    }
    Columns columns;
    columns.min(std::move(least));
    columns.max(std::move(greatest));
    host_.reduce(columns, [this, kept = std::move(kept_)](const Reduced& all) {
      Ranges ranges;
      for (std::size_t i = 0; i < variables_.size(); ++i)
        ranges[variables_[i]] = {all.real(0, i), all.real(1, i)};
      count(*kept, edges_of_all(ranges));
    });
  }

  void count(const Kept& kept, const Edges& edges) {
    CountsOf all;
    for (std::size_t i = 0; i < kept.values.size(); ++i) {
      Counts counts = none();
      count_values(kept.values[i].data(), kept.values[i].size(), edges.at(kept.variables[i]),
                   &counts);
      add(counts, &all[kept.variables[i]]);
    }
    reduce_counts(all, edges);
  }

  // Of all variables, also of those that this server has nothing of: others may have.
  void reduce_counts(const CountsOf& all, const Edges& edges) {
    if (variables_.empty()) return;
    std::vector<std::int64_t> numbers;
    for (const leat_variable* const variable : variables_) {
      const auto found = all.find(variable);
      const Counts its = found == all.end() ? none() : found->second;
      numbers.insert(numbers.end(), its.bins.begin(), its.bins.end());
      numbers.insert(numbers.end(), {its.below, its.above, its.not_finite});
    }
    Columns columns;
    columns.sum(std::move(numbers));
    host_.reduce(columns, [this, edges](const Reduced& sums) { publish(sums, edges); });
  }

  void publish(const Reduced& all, const Edges& edges) const {
    if (!all.is_first()) return;
    Products products;
    for (std::size_t i = 0; i < variables_.size(); ++i) {
      Counts counts = none();
      const std::size_t first = i * (bins_ + 3);
      std::int64_t values = 0;
      for (std::size_t bin = 0; bin < bins_ + 3; ++bin) values += all.integer(0, first + bin);
      for (std::size_t bin = 0; bin < bins_; ++bin) counts.bins[bin] = all.integer(0, first + bin);
      counts.below = all.integer(0, first + bins_);
      counts.above = all.integer(0, first + bins_ + 1);
      counts.not_finite = all.integer(0, first + bins_ + 2);
      if (values == 0) continue;
      const auto its =
          edges.find(variables_[i]);  // none: others alone have it, and options say which
      add(*variables_[i],
          its == edges.end() ? edges_of(fitted(*variables_[i], {}), bins_) : its->second, counts,
          &products);
      if (all.servers() > 1)
        products.add(product_name(*variables_[i]) + "_servers_missing",
                     std::int64_t{all.servers_missing()});
    }
    if (!products.empty()) host_.publish(std::move(products));
  }

  Edges edges_of_all(const Ranges& ranges) const {
    Edges edges;
    for (const auto& [variable, range] : ranges)
      edges[variable] = edges_of(fitted(*variable, range), bins_);
    return edges;
  }

  Counts none() const { return {std::vector<std::int64_t>(bins_)}; }

  void add(const Counts& counts, Counts* all) const {
    all->bins.resize(bins_);
    all->add(counts);
  }

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

  static std::vector<double> values_of(const Piece& piece) {
    std::vector<double> all;
    all.reserve(piece.count);
    for_each_run(piece, [&](const auto* values, std::uint64_t count) {
      for (std::uint64_t i = 0; i < count; ++i) all.push_back(static_cast<double>(values[i]));
    });
    return all;
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
           Products* products) const {
    const std::string name = product_name(variable);
    const auto bins = static_cast<std::int64_t>(bins_);
    products->add(name + "_histogram", std::move(all.bins), {{name + "_bin", bins}});
    products->add(name + "_edges", std::move(edges), {{name + "_edge", bins + 1}}, variable.unit);
    products->add(name + "_below", all.below);
    products->add(name + "_above", all.above);
    products->add(name + "_not_finite", all.not_finite);
  }

  const leat_run& run_;
  Host host_;
  Scope scope_;
  std::size_t bins_;
  std::optional<double> min_, max_;
  std::vector<const leat_variable*> variables_;
  std::vector<Piece> pieces_;
  std::vector<Counts> found_;  // by piece
  Ranges ranges_;              // of what this server has
  Edges edges_;
  std::shared_ptr<Kept> kept_;  // null: the edges are known
};

LEAT_PLUGIN(Histogram, "histogram")

}  // namespace
}  // namespace leat::analytics

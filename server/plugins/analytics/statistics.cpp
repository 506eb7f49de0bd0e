// SPDX-License-Identifier: Apache-2.0
// Statistics of each variable in each iteration, over what all ranks of the run own: products
// "<variable>_min", "_max", "_mean", "_std" (of the population), "_count" of finite values, and
// "_not_finite" of others. Where there are several servers the first of them publishes, and
// "<variable>_servers_missing" is how many gave nothing. Option scope="node": of this server alone.
//
// Sums of the values and of their squares are exact and rounded once, to two doubles, so the bits do not depend on how many threads,
// ranks or servers there are, and the variance is the difference of two numbers of 106 bits.
#include <cmath>
#include <limits>
#include <map>

#include "server/plugins/analytics/values.hpp"

namespace leat::analytics {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();
// Of the mean square: less of a variance is what two doubles cannot tell from 0.
constexpr double kLeastVariance = 0x1p-98;

// A double, and what it lacks.
struct Pair {
  double value = 0, rest = 0;
};

// Source: Dekker, A Floating-Point Technique for Extending the Available Precision, 1971.
Pair square_of(double value) {
  const double scaled = value * 134217729.0;  // 2^27 + 1
  const double high = scaled - (scaled - value), low = value - high;
  const double square = value * value;
  return {square, ((high * high - square) + 2 * high * low) + low * low};
}

struct Moments {
  std::int64_t count = 0, not_finite = 0;
  double min = kInfinite, max = -kInfinite;
  ExactSum sum, squares, rests;  // of the squares what they lack

  void add(double value) {
    ++count;
    min = std::min(min, value);
    max = std::max(max, value);
    sum.add(value);
    const Pair square = square_of(value);
    squares.add(square.value);
    if (square.rest != 0 && std::isfinite(square.rest)) rests.add(square.rest);
  }
  ExactSum all_squares() const {
    ExactSum all = squares;
    all.add(rests);
    return all;
  }
  void add(const Moments& other) {
    count += other.count;
    not_finite += other.not_finite;
    min = std::min(min, other.min);
    max = std::max(max, other.max);
    sum.add(other.sum);
    squares.add(other.squares);
    rests.add(other.rests);
  }
};

Moments moments_of(const Piece& piece) {
  Moments all;
  for_each_run(piece, [&](const auto* values, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto value = static_cast<double>(values[i]);
      if (std::isfinite(value)) all.add(value);
    }
  });
  all.not_finite = static_cast<std::int64_t>(piece.count) - all.count;
  return all;
}

// What is known of a variable when all have given theirs.
struct Summary {
  std::int64_t count = 0, not_finite = 0;
  double min = kNone, max = kNone;
  Pair sum{}, squares{};

  double mean() const { return count == 0 ? kNone : sum.value / static_cast<double>(count); }
  // n times the sum of squares less the square of the sum, in pairs.
  double deviation() const {
    if (count == 0) return kNone;
    const auto n = static_cast<double>(count);
    const double all = n * squares.value, mean = sum.value * sum.value;
    const double all_rest = std::fma(n, squares.value, -all) + n * squares.rest;
    const double mean_rest = std::fma(sum.value, sum.value, -mean) + 2 * sum.value * sum.rest;
    const double difference = (all - mean) + (all_rest - mean_rest);
    if (!std::isfinite(all)) return kInfinite;
    return difference <= all * kLeastVariance ? 0 : std::sqrt(difference) / n;
  }
};

class Statistics {
 public:
  Statistics(const leat_run& run, Host host)
      : run_(run), host_(host), scope_(scope_of(run)), variables_(numeric_variables(run)) {
    if (scope_ == Scope::run && !host_.can_reduce())
      throw std::runtime_error(
          "it goes over all servers of the run, which it cannot in a process of its own: leave out "
          "runs=\"...\", or write <option "
          "name=\"scope\" value=\"node\"/>");
  }

  std::uint64_t begin(const leat_iteration_data& data) {
    pieces_ = pieces_of(run_, data);
    found_.assign(pieces_.size(), {});
    return pieces_.size();
  }

  void chunk(std::uint64_t number) {
    found_[number] = moments_of(pieces_[number]);
    host_.progress(pieces_[number].count);
  }

  void finish() {
    std::map<const leat_variable*, Moments> all;
    for (std::size_t i = 0; i < pieces_.size(); ++i) all[pieces_[i].variable].add(found_[i]);
    if (scope_ == Scope::run) return reduce(all);
    Products products;
    for (const auto& [variable, moments] : all) add(*variable, summary_of(moments), &products);
    if (!products.empty()) host_.publish(std::move(products));
  }

  void close() {}

 private:
  // Of all variables, also of those that this server has nothing of: others may have.
  void reduce(const std::map<const leat_variable*, Moments>& all) const {
    if (variables_.empty()) return;
    std::vector<std::int64_t> counts;
    std::vector<double> least, greatest;
    std::vector<ExactSum> sums;
    for (const leat_variable* const variable : variables_) {
      const auto found = all.find(variable);
      const Moments its = found == all.end() ? Moments{} : found->second;
      counts.insert(counts.end(), {its.count, its.not_finite});
      least.push_back(its.min);
      greatest.push_back(its.max);
      sums.insert(sums.end(), {its.sum, its.all_squares()});
    }
    Columns columns;
    columns.sum(std::move(counts));
    columns.min(std::move(least));
    columns.max(std::move(greatest));
    columns.sum(sums);
    host_.reduce(columns, [this](const Reduced& reduced) { publish(reduced); });
  }

  void publish(const Reduced& all) const {
    if (!all.is_first()) return;
    Products products;
    for (std::size_t i = 0; i < variables_.size(); ++i) {
      Summary its{all.integer(0, 2 * i), all.integer(0, 2 * i + 1)};
      if (its.count + its.not_finite == 0) continue;
      its.min = its.count == 0 ? kNone : all.real(1, i);
      its.max = its.count == 0 ? kNone : all.real(2, i);
      its.sum = {all.real(3, 2 * i), all.rest(3, 2 * i)};
      its.squares = {all.real(3, 2 * i + 1), all.rest(3, 2 * i + 1)};
      add(*variables_[i], its, &products);
      if (all.servers() > 1)
        products.add(product_name(*variables_[i]) + "_servers_missing",
                     std::int64_t{all.servers_missing()});
    }
    if (!products.empty()) host_.publish(std::move(products));
  }

  static Summary summary_of(const Moments& of) {
    Summary summary{of.count, of.not_finite};
    if (of.count > 0) summary.min = of.min, summary.max = of.max;
    summary.sum = rounded(of.sum);
    summary.squares = rounded(of.all_squares());
    return summary;
  }

  // The terms are those of a number from its greatest part on.
  static Pair rounded(const ExactSum& sum) {
    Pair pair;
    const std::vector<double> terms = sum.terms();
    for (auto term = terms.rbegin(); term != terms.rend(); ++term) {
      const double value = pair.value + *term, part = value - pair.value;
      pair.rest += (pair.value - (value - part)) + (*term - part);
      pair.value = value;
    }
    return pair;
  }

  static void add(const leat_variable& variable, const Summary& of, Products* products) {
    const std::string name = product_name(variable) + "_", unit = variable.unit;
    products->add(name + "min", of.min, unit);
    products->add(name + "max", of.max, unit);
    products->add(name + "mean", of.mean(), unit);
    products->add(name + "std", of.deviation(), unit);
    products->add(name + "count", of.count);
    products->add(name + "not_finite", of.not_finite);
  }

  const leat_run& run_;
  Host host_;
  Scope scope_;
  std::vector<const leat_variable*> variables_;
  std::vector<Piece> pieces_;
  std::vector<Moments> found_;  // by piece
};

LEAT_PLUGIN(Statistics, "statistics")

}  // namespace
}  // namespace leat::analytics

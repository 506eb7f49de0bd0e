// SPDX-License-Identifier: Apache-2.0
// Statistics of each variable in each iteration, over what the ranks of this node own: products
// "<variable>_min", "_max", "_mean", "_std" (of the population), "_count" of finite values, and
// "_not_finite" of others.
//
// Pieces are put together in their order, so the bits do not depend on how many threads there are.
// Source: Chan, Golub, LeVeque: Updating Formulae and a Pairwise Algorithm for Computing Sample
// Variances, 1979.
#include <cmath>
#include <limits>
#include <map>

#include "server/plugins/analytics/values.hpp"

namespace leat::analytics {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

struct Moments {
  std::int64_t count = 0, not_finite = 0;
  double min = kNone, max = kNone, mean = kNone;
  double squares = 0;  // of the distances from the mean

  void add(const Moments& other) {
    not_finite += other.not_finite;
    if (other.count == 0) return;
    min = std::fmin(min, other.min);
    max = std::fmax(max, other.max);
    if (count == 0) {
      mean = other.mean;
      squares = other.squares;
    } else {
      const auto n = static_cast<double>(count), m = static_cast<double>(other.count);
      const double step = other.mean - mean;
      mean += step * (m / (n + m));
      squares += other.squares + step * step * (n * m / (n + m));
    }
    count += other.count;
  }
};

Moments moments_of(const Piece& piece) {
  Moments all;
  double sum = 0;
  for_each_run(piece, [&](const auto* values, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto value = static_cast<double>(values[i]);
      if (!std::isfinite(value)) continue;
      ++all.count;
      sum += value;
      all.min = std::fmin(all.min, value);
      all.max = std::fmax(all.max, value);
    }
  });
  all.not_finite = static_cast<std::int64_t>(piece.count) - all.count;
  if (all.count == 0) return all;
  all.mean = sum / static_cast<double>(all.count);
  for_each_run(piece, [&](const auto* values, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const double distance = static_cast<double>(values[i]) - all.mean;
      if (std::isfinite(distance)) all.squares += distance * distance;
    }
  });
  return all;
}

class Statistics {
 public:
  Statistics(const leat_run& run, Host host) : run_(run), host_(host) {}

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
    Products products;
    for (const auto& [variable, moments] : all) add(*variable, moments, products);
    if (!products.empty()) host_.publish(std::move(products));
  }

  void close() {}

 private:
  static void add(const leat_variable& variable, const Moments& of, Products& products) {
    const std::string name = product_name(variable) + "_", unit = variable.unit;
    products.add(name + "min", of.min, unit);
    products.add(name + "max", of.max, unit);
    products.add(name + "mean", of.mean, unit);
    const auto count = static_cast<double>(of.count);
    products.add(name + "std", of.count == 0 ? kNone : std::sqrt(of.squares / count), unit);
    products.add(name + "count", of.count);
    products.add(name + "not_finite", of.not_finite);
  }

  const leat_run& run_;
  Host host_;
  std::vector<Piece> pieces_;
  std::vector<Moments> found_;  // by piece
};

LEAT_PLUGIN(Statistics, "statistics")

}  // namespace
}  // namespace leat::analytics

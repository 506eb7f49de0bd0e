// SPDX-License-Identifier: Apache-2.0
// The radial distribution function g(r) of the particles of this node in each iteration: products
// "<positions>_radial" (bins) and "<positions>_radius" (bins), the middles of the bins, and
// "_pairs", how many were counted.
//
// Options: rmax, needed; bins (100); box="10,10,10", the periodic box. Without a box the density is
// that of the box around all particles, whose surface is not corrected for. The store takes one
// variable, (particles, axes). Source of the formula: Allen, Tildesley: Computer Simulation of
// Liquids, section 8.2.
#include <cmath>
#include <numbers>
#include <optional>
#include <stdexcept>

#include "server/plugins/analytics/options.hpp"
#include "server/plugins/analytics/particles.hpp"

namespace leat::analytics {
namespace {

constexpr std::size_t kPieceParticles = 1024;
constexpr double kMostReach = 1e150;  // its cube can be told

class Radial {
 public:
  Radial(const leat_run& run, Host host)
      : host_(host),
        particles_(run),
        bins_(static_cast<std::size_t>(whole_option(run, "bins", 100, 1, 1 << 16))),
        reach_(needed_option(run, "rmax", 0, kMostReach)) {
    if (reach_ == 0) throw std::invalid_argument("option rmax has to be greater than 0");
    for (const double length : particles_.box().lengths) {
      if (length > 0 && reach_ > length / 2)
        throw std::invalid_argument(
            "option rmax is greater than half of the box: a particle would be counted with its "
            "own images");
    }
  }

  std::uint64_t begin(const leat_iteration_data& data) {
    found_.clear();
    if (!particles_.read(data)) return 0;
    cells_.emplace(particles_.points(), particles_.box(), reach_);
    found_.resize((particles_.points().size() + kPieceParticles - 1) / kPieceParticles);
    return found_.size();
  }

  void chunk(std::uint64_t number) {
    std::vector<std::int64_t> counts(bins_);
    const std::size_t first = number * kPieceParticles;
    const std::size_t last = std::min(first + kPieceParticles, particles_.points().size());
    cells_->for_each_pair(first, last, [&](std::size_t, std::size_t, double square) {
      const auto bin = static_cast<std::size_t>(std::sqrt(square) / width());
      if (bin < bins_) ++counts[bin];
    });
    found_[number] = std::move(counts);
    host_.progress(last - first);
  }

  void finish() {
    if (found_.empty()) return;
    std::vector<std::int64_t> counts(bins_);
    for (const auto& piece : found_) {
      for (std::size_t bin = 0; bin < bins_; ++bin) counts[bin] += piece[bin];
    }
    publish(counts);
  }

  void close() {}

 private:
  double width() const { return reach_ / static_cast<double>(bins_); }

  // Of the shell between two radii.
  double shell(double inner, double outer) const {
    if (particles_.axes() == 2) return std::numbers::pi * (outer * outer - inner * inner);
    return 4 * std::numbers::pi / 3 * (outer * outer * outer - inner * inner * inner);
  }

  void publish(const std::vector<std::int64_t>& counts) {
    const auto n = static_cast<double>(particles_.points().size());
    const double density = n / particles_.volume();
    std::vector<double> radii, values;
    std::int64_t pairs = 0;
    for (std::size_t bin = 0; bin < bins_; ++bin) {
      const double inner = static_cast<double>(bin) * width(), outer = inner + width();
      radii.push_back((inner + outer) / 2);
      values.push_back(2 * static_cast<double>(counts[bin]) / (n * density * shell(inner, outer)));
      pairs += counts[bin];
    }
    const std::string name = particles_.name();
    const Products::Dimension dimension{name + "_shell", static_cast<std::int64_t>(bins_)};
    Products products;
    products.add(name + "_radial", std::move(values), {dimension});
    products.add(name + "_radius", std::move(radii), {dimension}, particles_.unit());
    products.add(name + "_pairs", pairs);
    host_.publish(std::move(products));
  }

  Host host_;
  Particles particles_;
  std::size_t bins_;
  double reach_;
  std::optional<CellList> cells_;
  std::vector<std::vector<std::int64_t>> found_;  // by piece
};

LEAT_PLUGIN(Radial, "radial")

}  // namespace
}  // namespace leat::analytics

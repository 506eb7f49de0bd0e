// SPDX-License-Identifier: Apache-2.0
// The radial distribution function g(r) of all particles of the run in each iteration: products
// "<positions>_radial" (bins) and "<positions>_radius" (bins), the middles of the bins, and
// "_pairs", how many were counted. Where there are several servers the first of them publishes, with "_servers_missing", of how
// many nothing is in it, and "_left_out", how many particles would have had to be sent to other servers and were too many.
//
// Options: rmax, needed; bins (100); box="10,10,10", the periodic box; scope="node": of this server alone. Without a box the density is
// that of the box around all particles, whose surface is not corrected for. The store takes one
// variable, (particles, axes). Source of the formula: Allen, Tildesley: Computer Simulation of
// Liquids, section 8.2.
//
// Of two servers the lower one counts the pairs that lie on both. Counts are integers, and each distance is computed from the same
// two positions wherever they are, so the bits do not depend on how many servers there are.
#include <cmath>
#include <map>
#include <memory>
#include <numbers>
#include <stdexcept>
#include <utility>

#include "server/plugins/analytics/options.hpp"
#include "server/plugins/analytics/other_servers.hpp"

namespace leat::analytics {
namespace {

constexpr std::size_t kPieceParticles = 1024;
constexpr double kMostReach = 1e150;  // its cube can be told

using Counts = std::vector<std::int64_t>;  // of pairs, by bin

// An iteration until its counts are those of the run.
struct Counting {
  Cloud cloud{};
  std::unique_ptr<CellList> cells{};
  Counts own{};                  // pairs of this server
  std::map<int, Counts> with{};  // pairs with particles of a server behind this one
  std::map<int, std::int64_t> left_out{};
};

class Radial {
 public:
  Radial(const leat_run& run, Host host)
      : run_(run),
        host_(host),
        scope_(scope_of(run)),
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
    expect_that_it_can_reduce(scope_, host_);
  }

  std::uint64_t begin(const leat_iteration_data& data) {
    now_ = std::make_shared<Counting>();
    now_->cloud = particles_.read(data);
    const std::vector<Point>& points = now_->cloud.points;
    now_->cells = std::make_unique<CellList>(points, particles_.box(), reach_);
    found_.assign((points.size() + kPieceParticles - 1) / kPieceParticles, {});
    return found_.size();
  }

  void chunk(std::uint64_t number) {
    Counts counts(bins_);
    const std::size_t first = number * kPieceParticles;
    const std::size_t last = std::min(first + kPieceParticles, now_->cloud.points.size());
    now_->cells->for_each_pair(
        first, last, [&](std::size_t, std::size_t, double square) { count(square, &counts); });
    found_[number] = std::move(counts);
    host_.progress(last - first);
  }

  void finish() {
    const std::shared_ptr<Counting> now = std::move(now_);
    now->own.assign(bins_, 0);
    for (const Counts& piece : found_) add(piece, &now->own);
    Told own = told_of(now->cloud, particles_.box(), false);
    if (scope_ == Scope::node || !has_other_servers(run_))
      return publish(*now, now->own, Company(std::move(own)));
    Columns columns;
    columns.gather(Company::bytes_of(own));
    host_.reduce(columns, [this, now](const Reduced& all) { send(now, Company(all)); });
  }

  void close() {}

 private:
  double width() const { return reach_ / static_cast<double>(bins_); }

  void count(double square, Counts* counts) const {
    const auto bin = static_cast<std::size_t>(std::sqrt(square) / width());
    if (bin < bins_) ++(*counts)[bin];
  }
  static void add(const Counts& more, Counts* counts) {
    for (std::size_t bin = 0; bin < counts->size(); ++bin) (*counts)[bin] += more[bin];
  }

  // To the servers before this one, which count the pairs with them.
  void send(const std::shared_ptr<Counting>& now, Company company) {
    std::string bytes;
    if (company.is_in()) {
      const std::vector<std::size_t> near =
          near_others(now->cloud, particles_.box(), reach_, company, false);
      bytes = bytes_of_sent(now->cloud, near, nullptr, company);
    }
    Columns columns;
    columns.gather(std::move(bytes));
    host_.reduce(columns, [this, now, company](const Reduced& all) {
      Company those = company;
      those.remain(all, 0);
      count_with_others(now.get(), those, all);
      reduce(now, std::move(those));
    });
  }

  void count_with_others(Counting* now, const Company& company, const Reduced& all) const {
    for (const auto& [server, told] : company.told()) {
      const Sent sent = sent_in(*all.gathered(0, server), told.axes, false);
      now->left_out[server] = sent.left_out;
      if (server <= company.self()) continue;
      Counts counts(bins_);
      for (const Point& point : sent.points)
        now->cells->for_each_near(point,
                                  [&](std::size_t, double square) { count(square, &counts); });
      now->with[server] = std::move(counts);
      host_.progress(sent.points.size());
    }
  }

  // Until no server goes meanwhile: of those that have gone nothing is counted.
  void reduce(const std::shared_ptr<Counting>& now, Company company) {
    Counts counts(bins_);
    if (company.is_in()) counts = now->own;
    for (const auto& [server, its] : now->with)
      if (company.is_in() && company.has(server)) add(its, &counts);
    Columns columns;
    columns.sum(std::move(counts));
    columns.gather(company.here());
    host_.reduce(columns, [this, now, company](const Reduced& all) {
      Company those = company;
      if (!those.remain(all, 1)) return reduce(now, std::move(those));
      Counts sums(bins_);
      for (std::size_t bin = 0; bin < bins_; ++bin) sums[bin] = all.integer(0, bin);
      publish(*now, sums, those);
    });
  }

  // Of the shell between two radii.
  static double shell(std::size_t axes, double inner, double outer) {
    if (axes == 2) return std::numbers::pi * (outer * outer - inner * inner);
    return 4 * std::numbers::pi / 3 * (outer * outer * outer - inner * inner * inner);
  }

  void publish(const Counting& now, const Counts& counts, const Company& company) {
    if (!company.publishes() || company.particles() == 0) return;
    const std::size_t axes = now.cloud.axes;
    const auto n = static_cast<double>(company.particles());
    const double density = n / company.volume(particles_.box(), axes);
    std::vector<double> radii, values;
    std::int64_t pairs = 0;
    for (std::size_t bin = 0; bin < bins_; ++bin) {
      const double inner = static_cast<double>(bin) * width(), outer = inner + width();
      radii.push_back((inner + outer) / 2);
      values.push_back(2 * static_cast<double>(counts[bin]) /
                       (n * density * shell(axes, inner, outer)));
      pairs += counts[bin];
    }
    const std::string name = now.cloud.name();
    const Products::Dimension dimension{name + "_shell", static_cast<std::int64_t>(bins_)};
    Products products;
    products.add(name + "_radial", std::move(values), {dimension});
    products.add(name + "_radius", std::move(radii), {dimension}, now.cloud.variable->unit);
    products.add(name + "_pairs", pairs);
    if (company.has_others()) add_what_is_missing(now, company, name, &products);
    host_.publish(std::move(products));
  }

  void add_what_is_missing(const Counting& now, const Company& company, const std::string& name,
                           Products* products) {
    std::int64_t left_out = 0;
    for (const auto& [server, count] : now.left_out)
      if (company.has(server)) left_out += count;
    products->add(name + "_servers_missing", std::int64_t{company.servers_missing()});
    products->add(name + "_left_out", left_out);
    if (left_out > 0 && !std::exchange(has_warned_, true))
      host_.warn(too_many_to_send(left_out, name + "_radial", "rmax"));
  }

  const leat_run& run_;
  Host host_;
  Scope scope_;
  Particles particles_;
  std::size_t bins_;
  double reach_;
  std::shared_ptr<Counting> now_;  // of the call
  std::vector<Counts> found_;      // by piece
  bool has_warned_ = false;
};

LEAT_PLUGIN(Radial, "radial")

}  // namespace
}  // namespace leat::analytics

// SPDX-License-Identifier: Apache-2.0
// Bonds between particles: pairs that were at most `cutoff` apart in the first iteration of the run.
// Products of each iteration: "<positions>_bonds", how many there are; "_broken", how many of them
// are longer than `break` now; "_missing", of how many a particle is not there; "_coordination"
// (neighbours), how many particles have so many others within the cutoff now; and with
// adjacency="yes" "_adjacency" (pair, 2), these pairs, sorted.
//
// Options: cutoff, needed; break (the cutoff); box="10,10,10", the periodic box; ids="id", a
// variable with the number of each particle, by which it is known when it changes its place, or its
// rank; else it is known by its place among all of the node. The bonds are kept in a file, till the
// run ends, for a server that takes over.
#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <unordered_map>

#include "server/plugins/analytics/bonds_file.hpp"
#include "server/plugins/analytics/options.hpp"
#include "server/plugins/analytics/particles.hpp"
#include "server/plugins/analytics/values.hpp"

namespace leat::analytics {
namespace {

constexpr std::size_t kPieceParticles = 1024;
constexpr double kMostReach = 1e150;

class Bonds {
 public:
  Bonds(const leat_run& run, Host host)
      : run_(run),
        host_(host),
        particles_(run),
        cutoff_(needed_option(run, "cutoff", 0, kMostReach)),
        break_(number_option(run, "break", 0, kMostReach).value_or(cutoff_)),
        ids_name_(option(run.options, run.option_count, "ids")),
        shows_adjacency_(option(run.options, run.option_count, "adjacency") == "yes"),
        file_(run) {
    if (cutoff_ == 0) throw std::invalid_argument("option cutoff has to be greater than 0");
    if (leat_run_is_resumed(&run)) first_ = file_.read();
    is_kept_ = first_.has_value();
  }

  std::uint64_t begin(const leat_iteration_data& data) {
    found_.clear();
    if (!particles_.read(data)) return 0;
    read_ids(data);
    cells_.emplace(particles_.points(), particles_.box(), cutoff_);
    found_.resize((particles_.points().size() + kPieceParticles - 1) / kPieceParticles);
    return found_.size();
  }

  void chunk(std::uint64_t number) {
    const std::size_t first = number * kPieceParticles;
    const std::size_t last = std::min(first + kPieceParticles, particles_.points().size());
    std::vector<Pair> pairs;
    cells_->for_each_pair(first, last, [&](std::size_t i, std::size_t j, double) {
      pairs.push_back({std::min(ids_[i], ids_[j]), std::max(ids_[i], ids_[j])});
    });
    found_[number] = std::move(pairs);
    host_.progress(last - first);
  }

  void finish() {
    if (found_.empty()) return;
    std::vector<Pair> pairs;
    for (const auto& piece : found_) pairs.insert(pairs.end(), piece.begin(), piece.end());
    std::sort(pairs.begin(), pairs.end());
    if (!first_) first_ = pairs;
    if (!is_kept_)
      file_.write(*first_);  // else a server that takes over would take others for them
    is_kept_ = true;
    publish(std::move(pairs));
  }

  void close() { file_.remove(); }

 private:
  void read_ids(const leat_iteration_data& data) {
    ids_.clear();
    for (const leat_block& block : Blocks(data)) {
      const leat_variable& variable = *leat_variable_at(&run_, block.variable);
      if (ids_name_.empty() || ids_name_ != variable.name) continue;
      const Piece whole{&variable, &block, 0, element_count(variable, block)};
      for_each_run(whole, [&](const auto* values, std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i)
          ids_.push_back(static_cast<std::int64_t>(values[i]));
      });
    }
    const std::size_t count = particles_.points().size();
    if (ids_name_.empty()) {
      for (std::size_t i = 0; i < count; ++i) ids_.push_back(static_cast<std::int64_t>(i));
    }
    if (ids_.size() != count)
      throw std::runtime_error("there are " + std::to_string(count) + " particles, and " +
                               std::to_string(ids_.size()) + " numbers of them in " + ids_name_);
    places_.clear();
    for (std::size_t i = 0; i < count; ++i) {
      if (!places_.emplace(ids_[i], i).second)
        throw std::runtime_error("two particles have the number " + std::to_string(ids_[i]) +
                                 " in " + ids_name_);
    }
  }

  void publish(std::vector<Pair> pairs) const {
    std::int64_t broken = 0, missing = 0;
    for (const Pair& bond : *first_) {
      const auto a = places_.find(bond[0]), b = places_.find(bond[1]);
      if (a == places_.end() || b == places_.end()) {
        ++missing;
        continue;
      }
      const auto& points = particles_.points();
      const double square = particles_.box().square(points[a->second], points[b->second]);
      if (square > break_ * break_) ++broken;
    }
    const std::string name = particles_.name();
    Products products;
    products.add(name + "_bonds", static_cast<std::int64_t>(first_->size()));
    products.add(name + "_broken", broken);
    products.add(name + "_missing", missing);
    std::vector<std::int64_t> coordination = coordination_of(pairs);
    const auto most = static_cast<std::int64_t>(coordination.size());
    products.add(name + "_coordination", std::move(coordination), {{name + "_neighbours", most}});
    if (shows_adjacency_) add_adjacency(pairs, name, products);
    host_.publish(std::move(products));
  }

  std::vector<std::int64_t> coordination_of(const std::vector<Pair>& pairs) const {
    std::vector<std::size_t> neighbours(ids_.size());
    for (const Pair& pair : pairs) {
      for (const std::int64_t id : pair) ++neighbours[places_.at(id)];
    }
    std::vector<std::int64_t> coordination;
    for (const std::size_t count : neighbours) {
      if (count >= coordination.size()) coordination.resize(count + 1);
      ++coordination[count];
    }
    return coordination;
  }

  static void add_adjacency(const std::vector<Pair>& pairs, const std::string& name,
                            Products& products) {
    std::vector<std::int64_t> numbers;
    for (const Pair& pair : pairs) numbers.insert(numbers.end(), pair.begin(), pair.end());
    products.add(name + "_adjacency", std::move(numbers),
                 {{name + "_pair", static_cast<std::int64_t>(pairs.size())}, {name + "_end", 2}});
  }

  const leat_run& run_;
  Host host_;
  Particles particles_;
  double cutoff_, break_;
  std::string ids_name_;
  bool shows_adjacency_;
  BondsFile file_;
  std::optional<std::vector<Pair>> first_;  // the bonds: those of the first iteration
  bool is_kept_ = false;
  std::vector<std::int64_t> ids_;
  std::unordered_map<std::int64_t, std::size_t> places_;  // by number of the particle
  std::optional<CellList> cells_;
  std::vector<std::vector<Pair>> found_;  // by piece
};

LEAT_PLUGIN(Bonds, "bonds")

}  // namespace
}  // namespace leat::analytics

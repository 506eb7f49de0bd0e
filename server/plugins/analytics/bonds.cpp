// SPDX-License-Identifier: Apache-2.0
// Bonds between particles of the run: pairs that were at most `cutoff` apart in its first iteration.
// Products of each iteration: "<positions>_bonds", how many there are; "_broken", how many of them
// are longer than `break` now; "_missing", of how many a particle is not there; "_coordination"
// (neighbours), how many particles have so many others within the cutoff now; and with
// adjacency="yes" "_adjacency" (pair, 2), these pairs, sorted. Where there are several servers the first of them publishes, with
// "_servers_missing", of how many nothing is in it, and "_left_out", how many particles, bonds and pairs would have had to be sent to
// other servers and were too many.
//
// Options: cutoff, needed; break (the cutoff); box="10,10,10", the periodic box; ids="id", a
// variable with the number of each particle, by which it is known when it changes its place, or its
// rank; else it is known by its rank and its place there, and pairs have its place among all; scope="node": of this server alone.
//
// Each server keeps the bonds that it has found, also in a file, till the run ends, for a server that takes over. Of a pair that lies on
// two servers the lower one has the bond. In each iteration servers send each other the particles at their borders, ask for those of
// their bonds that have gone elsewhere, and add up.
#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "server/plugins/analytics/bonds_file.hpp"
#include "server/plugins/analytics/numbered_pairs.hpp"
#include "server/plugins/analytics/options.hpp"
#include "server/plugins/analytics/other_servers.hpp"

namespace leat::analytics {
namespace {

constexpr std::size_t kPieceParticles = 1024;
constexpr double kMostReach = 1e150;

class Bonds {
 public:
  Bonds(const leat_run& run, Host host)
      : run_(run),
        host_(host),
        scope_(scope_of(run)),
        particles_(run),
        cutoff_(needed_option(run, "cutoff", 0, kMostReach)),
        break_(number_option(run, "break", 0, kMostReach).value_or(cutoff_)),
        ids_name_(option(run.options, run.option_count, "ids")),
        shows_adjacency_(option(run.options, run.option_count, "adjacency") == "yes"),
        file_(run) {
    if (cutoff_ == 0) throw std::invalid_argument("option cutoff has to be greater than 0");
    expect_that_it_can_reduce(scope_, host_);
    if (leat_run_is_resumed(&run)) first_ = file_.read();
    is_kept_ = first_.has_value();
    is_without_bonds_ =
        is_kept_ && first_->empty();  // the server before this one may have been too late
  }

  std::uint64_t begin(const leat_iteration_data& data) {
    now_ = std::make_shared<NumberedPairs>(particles_.read(data));
    now_->number(run_, data, ids_name_);
    const std::vector<Point>& points = now_->cloud().points;
    cells_ = std::make_shared<CellList>(points, particles_.box(), cutoff_);
    found_.assign((points.size() + kPieceParticles - 1) / kPieceParticles, {});
    return found_.size();
  }

  void chunk(std::uint64_t number) {
    const std::size_t first = number * kPieceParticles;
    const std::size_t last = std::min(first + kPieceParticles, now_->cloud().points.size());
    std::vector<Pair> pairs;
    cells_->for_each_pair(first, last, [&](std::size_t i, std::size_t j, double) {
      pairs.push_back(now_->pair(i, j));
    });
    found_[number] = std::move(pairs);
    host_.progress(last - first);
  }

  void finish() {
    const Now now{std::move(now_), std::move(cells_)};
    for (const std::vector<Pair>& piece : found_) now.pairs->add_own(piece);
    const bool is_later = std::exchange(has_begun_, true) || first_;
    Told own = told_of(now.pairs->cloud(), particles_.box(), is_later);
    if (scope_ == Scope::node || !has_other_servers(run_)) return finish_alone(now, std::move(own));
    Columns columns;
    columns.gather(Company::bytes_of(own));
    host_.reduce(columns, [this, now](const Reduced& all) { send(now, Company(all)); });
  }

  void close() { file_.remove(); }

 private:
  // An iteration until its pairs are those of the run.
  struct Now {
    std::shared_ptr<NumberedPairs> pairs{};
    std::shared_ptr<const CellList> cells{};
  };

  void finish_alone(const Now& now, Told own) {
    if (now.pairs->cloud().points.empty()) return;
    const Company company(std::move(own));
    keep_first(*now.pairs, company);
    publish(now, {now.pairs->found(*first_, particles_.box(), break_, company)}, company);
  }

  void send(const Now& now, Company company) {
    std::string bytes;
    if (company.is_in()) {
      const Cloud& cloud = now.pairs->cloud();
      const std::vector<std::size_t> near =
          near_others(cloud, particles_.box(), cutoff_, company, true);
      bytes = bytes_of_sent(cloud, near, &now.pairs->numbers(), company);
    }
    Columns columns;
    columns.gather(std::move(bytes));
    host_.reduce(columns, [this, now, company](const Reduced& all) {
      Company those = company;
      those.remain(all, 0);
      for (const auto& [server, told] : those.told()) {
        if (!those.is_in()) break;
        now.pairs->add_sent(server, those.self(),
                            sent_in(*all.gathered(0, server), told.axes, true), *now.cells);
        host_.progress(1);
      }
      if (those.is_in() && those.particles() > 0) keep_first(*now.pairs, those);
      ask(now, std::move(those));
    });
  }

  // For particles of bonds that are neither here nor near.
  void ask(const Now& now, Company company) {
    std::string bytes;
    if (company.is_in()) bytes = now.pairs->bytes_of_wanted(bonds(), company);
    Columns columns;
    columns.gather(std::move(bytes));
    host_.reduce(columns, [this, now, company](const Reduced& all) {
      Company those = company;
      those.remain(all, 0);
      if (NumberedPairs::is_nothing_wanted(all, those)) return add_up(now, std::move(those));
      answer(now, std::move(those), all);
    });
  }

  void answer(const Now& now, Company company, const Reduced& asked) {
    std::string bytes;
    if (company.is_in()) bytes = now.pairs->bytes_of_answers(asked, company);
    Columns columns;
    columns.gather(std::move(bytes));
    host_.reduce(columns, [this, now, company](const Reduced& all) {
      Company those = company;
      those.remain(all, 0);
      if (those.is_in()) now.pairs->add_answers(all, those);
      add_up(now, std::move(those));
    });
  }

  // Until no server goes meanwhile: of those that have gone nothing is counted.
  void add_up(const Now& now, Company company) {
    std::string bytes;
    if (company.is_in()) {
      Found own = now.pairs->found(bonds(), particles_.box(), break_, company);
      if (!shows_adjacency_) own.pairs.clear();
      own.without_bonds = is_without_bonds_ ? 1 : 0;
      bytes = bytes_of(std::move(own), company);
    }
    Columns columns;
    columns.gather(std::move(bytes));
    host_.reduce(columns, [this, now, company](const Reduced& all) {
      Company those = company;
      if (!those.remain(all, 0)) return add_up(now, std::move(those));
      std::vector<Found> parts;
      for (const auto& [server, told] : those.told())
        parts.push_back(found_in(*all.gathered(0, server)));
      publish(now, std::move(parts), those);
    });
  }

  const std::vector<Pair>& bonds() const {
    static const std::vector<Pair> kNone;
    return first_ ? *first_ : kNone;
  }

  // Servers that had no iteration when others had their first one have no bonds.
  void keep_first(const NumberedPairs& pairs, const Company& company) {
    const auto is_later = [](const auto& each) { return each.second.is_later != 0; };
    const bool is_too_late = !company.told().at(company.self()).is_later &&
                             std::any_of(company.told().begin(), company.told().end(), is_later);
    if (!first_ && has_missed_it(company))
      host_.warn(
          "was not with the other servers of the run in its first iteration: bonds of its "
          "particles are pairs of a later one");
    if (!first_) is_without_bonds_ = is_too_late;
    if (!first_) first_ = is_too_late ? std::vector<Pair>() : pairs.pairs(company);
    if (!is_kept_)
      file_.write(*first_);  // else a server that takes over would take others for them
    is_kept_ = true;
  }

  static bool has_missed_it(const Company& company) {
    return company.has_others() && company.told().at(company.self()).is_later != 0;
  }

  void publish(const Now& now, std::vector<Found> parts, const Company& company) {
    if (!company.publishes() || company.particles() == 0) return;
    Found all;
    for (Found& part : parts) all.add(std::move(part));
    std::sort(all.pairs.begin(), all.pairs.end());
    const std::string name = now.pairs->cloud().name();
    Products products;
    products.add(name + "_bonds", all.bonds);
    products.add(name + "_broken", all.broken);
    products.add(name + "_missing", all.missing);
    const auto most = static_cast<std::int64_t>(all.coordination.size());
    products.add(name + "_coordination", std::move(all.coordination),
                 {{name + "_neighbours", most}});
    if (shows_adjacency_) add_adjacency(all.pairs, name, company, &products);
    if (company.has_others()) {
      products.add(name + "_servers_missing",
                   std::int64_t{company.servers_missing()} + all.without_bonds);
      products.add(name + "_left_out", all.left_out);
      if (all.left_out > 0 && !std::exchange(has_warned_, true))
        host_.warn(too_many_to_send(all.left_out, name + "_bonds and the others", "cutoff"));
    }
    host_.publish(std::move(products));
  }

  // Without ids, by the places of their particles among all.
  void add_adjacency(const std::vector<Pair>& pairs, const std::string& name,
                     const Company& company, Products* products) const {
    const PlacesAmongAll places(company);
    std::vector<std::int64_t> numbers;
    for (const Pair& pair : pairs)
      for (const std::int64_t number : pair)
        numbers.push_back(ids_name_.empty() ? places.of(number) : number);
    products->add(name + "_adjacency", std::move(numbers),
                  {{name + "_pair", static_cast<std::int64_t>(pairs.size())}, {name + "_end", 2}});
  }

  const leat_run& run_;
  Host host_;
  Scope scope_;
  Particles particles_;
  double cutoff_, break_;
  std::string ids_name_;
  bool shows_adjacency_;
  BondsFile file_;
  std::optional<std::vector<Pair>> first_;  // the bonds: those of the first iteration
  bool is_without_bonds_ = false, is_kept_ = false, has_begun_ = false, has_warned_ = false;
  std::shared_ptr<NumberedPairs> now_;  // of the call
  std::shared_ptr<const CellList> cells_;
  std::vector<std::vector<Pair>> found_;  // by piece
};

LEAT_PLUGIN(Bonds, "bonds")

}  // namespace
}  // namespace leat::analytics

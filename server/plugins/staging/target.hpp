// SPDX-License-Identifier: Apache-2.0
// Where a node sends to, and where it goes on when that is lost.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "lib/os/process.hpp"
#include "server/include/plugin.hpp"
#include "server/plugins/staging/link.hpp"

namespace leat::staging {

// The place is one of the staging nodes, the one that these have agreed on to begin with, or a program on this node. It is noted
// beside the cards, so that a server that takes over from this one goes on there.
class Target {
 public:
  struct Settings {
    std::string simulation, config;
    std::int64_t nodes = 1;
    std::string when_lost;
    double timeout_seconds = 60;
    bool resumed = false;
    Caller caller;  ///< its limits are set here
  };

  Target(Settings settings, Host host);

  /// There is a link, maybe to another place than before. False: there is none any more, see why().
  bool ensure();
  bool is_there() const noexcept { return link_ != nullptr; }
  Link& link() noexcept { return *link_; }
  /// It has broken: ensure() looks for another one.
  void link_is_lost();
  /// The place has these products, of an iteration, -1: of one that is not known.
  void products_taken(std::uint64_t number, std::int64_t iteration) {
    products_.emplace_back(number, iteration);
  }
  /// The place has all of this iteration.
  void taken(std::int64_t iteration) noexcept { taken_ = iteration; }

  const std::string& why() const noexcept { return why_; }
  std::string why_not_stored() const;
  /// What staging nodes had in memory when they were lost; "" for nothing.
  const std::string& lost_with_nodes() const noexcept { return lost_; }
  /// The run is over.
  void forget();

 private:
  static constexpr std::int64_t kLocal = -1, kNone = -2;

  using Attempt = std::function<Result<void>(const comm::Offer&)>;
  bool reach(std::int64_t number, const Attempt& attempt);
  bool begin();
  bool go_on_after_a_server();
  bool try_again_there();
  bool move();
  std::string not_stored_there() const;
  bool move_to(std::int64_t place, const comm::Offer& card);
  std::optional<comm::Offer> start_local();
  std::optional<comm::Offer> card_within(std::int64_t number, std::int64_t ns);
  Result<void> connect(const comm::Offer& card, std::int64_t limit_ns = 0);
  std::string name_of_place() const;
  std::string note_name() const;
  void note() const;

  Settings settings_;
  Host host_;
  std::string folder_;
  std::unique_ptr<Link> link_;
  std::int64_t place_ = kNone;  // number of a staging node, or kLocal
  comm::Offer card_;            // of that
  std::int64_t await_cards_ns_ = 0;
  bool has_begun_ = false, is_over_ = false;
  std::int64_t taken_ = -1, moved_after_ = -1, stored_ = -1;
  std::deque<std::pair<std::uint64_t, std::int64_t>>
      products_;  // there, and maybe not with all subscribers
  std::string why_, lost_;
};

}  // namespace leat::staging

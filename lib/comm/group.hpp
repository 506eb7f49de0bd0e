// SPDX-License-Identifier: Apache-2.0
// What a server of a run has of the others of it: operations of all of them together, and who is there.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lib/comm/message.hpp"

namespace leat::comm {

// Nothing here waits. Rounds of which nothing is said any more end by themselves, with whoever is there.
class Group {
 public:
  struct Status {
    bool is_joined = false;     ///< most servers are there
    bool has_left = false;      ///< nobody needs this one any more
    std::string why_alone{};    ///< "": it is not
    std::string why_waiting{};  ///< why the server above it cannot be reached; ""
    View view{};
    std::int64_t confirmed = 0;  ///< all servers have the outcomes up to this one for good
    RankSet awaited{};           ///< of channel 0: who has yet to contribute
    std::uint64_t refused = 0;   ///< connections
    std::string why_refused{};
  };

  virtual ~Group() = default;

  virtual Rank self() const = 0;
  virtual Rank size() const = 0;
  /// Numbers grow in a channel. Those that are left out are contributed nothing to.
  virtual void contribute(const Round& round, Columns columns) = 0;
  /// Why contributions were refused: the others get nothing of them, and are not kept waiting.
  virtual std::vector<std::string> take_refusals() = 0;
  /// This server has these outcomes, and all before them, for good.
  virtual void confirm(std::int64_t sequence) = 0;
  /// Nothing more is needed of the others; see Status.has_left.
  virtual void leave() = 0;
  /// In the order that is that of all servers.
  virtual std::vector<Outcome> take_outcomes() = 0;
  /// There is something to take, or the status has changed, since outcomes were taken last. Costs
  /// nothing.
  virtual bool has_news() const = 0;
  /// Rounds to which others have contributed, and this one has not, for a while.
  virtual std::vector<Round> take_awaited() = 0;
  virtual Status status() const = 0;
};

// A server that has the whole run, or goes on without the others: what it contributes is the outcome.
class OneServer final : public Group {
 public:
  explicit OneServer(Rank self = 0, Rank size = 1, std::string why_alone = {},
                     std::int64_t known = 0)
      : self_(self), size_(size), why_alone_(std::move(why_alone)), known_(known) {}

  Rank self() const override { return self_; }
  Rank size() const override { return size_; }
  void contribute(const Round& round, Columns columns) override {
    Outcome outcome;
    outcome.sequence = ++known_;
    outcome.round = round;
    outcome.of = RankSet(self_);
    outcome.columns = std::move(columns);
    outcomes_.push_back(std::move(outcome));
  }
  std::vector<std::string> take_refusals() override { return {}; }
  void confirm(std::int64_t sequence) override { confirmed_ = sequence; }
  void leave() override { has_left_ = true; }
  std::vector<Outcome> take_outcomes() override {
    is_new_ = false;
    return std::exchange(outcomes_, {});
  }
  bool has_news() const override { return is_new_ || !outcomes_.empty(); }
  std::vector<Round> take_awaited() override { return {}; }
  Status status() const override {
    Status now;
    now.is_joined = true;
    now.has_left = has_left_;
    now.why_alone = why_alone_;
    now.confirmed = confirmed_;
    return now;
  }

 private:
  Rank self_, size_;
  std::string why_alone_;
  std::int64_t known_, confirmed_ = 0;
  bool has_left_ = false, is_new_ = true;  // its status was not looked at
  std::vector<Outcome> outcomes_;
};

}  // namespace leat::comm

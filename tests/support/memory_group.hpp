// SPDX-License-Identifier: Apache-2.0
// The servers of a run in one process, with rounds as those of a network: outcomes come in one order for all.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "lib/comm/group.hpp"

namespace leat::comm::tests {

/// Where they meet. From any thread.
class MemoryServers {
 public:
  explicit MemoryServers(Rank size) : size_(size), outcomes_(static_cast<std::size_t>(size)) {}

  Rank size() const { return size_; }
  void contribute(Rank rank, const Round& round, Columns columns) {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_[round].emplace(rank, std::move(columns));
    Last& last = last_[round.channel];
    last[rank] = std::max(last.emplace(rank, round.number).first->second, round.number);
    complete();
  }
  void die(Rank rank) {
    const std::lock_guard<std::mutex> lock(mutex_);
    view_.dead += rank;
    complete();
  }
  std::vector<Outcome> take(Rank rank) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(outcomes_[static_cast<std::size_t>(rank)], {});
  }
  std::vector<Round> awaited(Rank rank) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<Round> rounds;
    for (const auto& [round, given] : open_)
      if (!is_patient && !is_done(rank, round, given)) rounds.push_back(round);
    return rounds;
  }
  /// Nobody is told that others wait for it.
  bool is_patient = false;
  View view() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return view_;
  }

 private:
  using Given = std::map<Rank, Columns>;
  using Last = std::map<Rank, std::int64_t>;

  // With a later number of the channel it has nothing to say in this one.
  bool is_done(Rank rank, const Round& round, const Given& given) {
    const auto last = last_[round.channel].find(rank);
    return given.count(rank) > 0 ||
           (last != last_[round.channel].end() && last->second > round.number);
  }

  void complete() {
    for (auto at = open_.begin(); at != open_.end();) {
      bool all = true;
      for (const Rank rank : (RankSet(0, size_ - 1) - view_.dead).ranks())
        all = all && is_done(rank, at->first, at->second);
      if (!all) {
        ++at;
        continue;
      }
      const Outcome outcome = outcome_of(at->first, at->second);
      for (auto& each : outcomes_) each.push_back(outcome);
      at = open_.erase(at);
    }
  }

  // Who fits the first that has something to say.
  Outcome outcome_of(const Round& round, const Given& given) {
    Outcome outcome{++sequence_, 0, round, {}, {}};
    for (Rank rank = 0; rank < size_; ++rank) {
      const auto its = given.find(rank);
      if (its == given.end()) {
        if (!view_.dead.has(rank)) outcome.of += rank;
      } else if (its->second.empty() || outcome.columns.empty()) {
        outcome.of += rank;
        if (!its->second.empty()) outcome.columns = its->second;
      } else if (fit(outcome.columns, its->second)) {
        outcome.of += rank;
        combine(&outcome.columns, its->second);
      }
    }
    return outcome;
  }

  Rank size_;
  std::mutex mutex_;
  std::map<Round, Given> open_;
  std::map<std::uint64_t, Last> last_;
  std::vector<std::vector<Outcome>> outcomes_;  // by rank
  View view_;
  std::int64_t sequence_ = 0;
};

class MemoryGroup final : public Group {
 public:
  MemoryGroup(MemoryServers& servers, Rank self) : servers_(servers), self_(self) {}

  Rank self() const override { return self_; }
  Rank size() const override { return servers_.size(); }
  void contribute(const Round& round, Columns columns) override {
    servers_.contribute(self_, round, std::move(columns));
  }
  std::vector<std::string> take_refusals() override { return {}; }
  void confirm(std::int64_t sequence) override { confirmed_ = sequence; }
  void leave() override { servers_.die(self_); }
  std::vector<Outcome> take_outcomes() override { return servers_.take(self_); }
  bool has_news() const override { return true; }
  std::vector<Round> take_awaited() override { return servers_.awaited(self_); }
  Status status() const override {
    Status now;
    now.is_joined = true;
    now.view = servers_.view();
    now.confirmed = confirmed_;
    return now;
  }

 private:
  MemoryServers& servers_;
  Rank self_;
  std::int64_t confirmed_ = 0;
};

}  // namespace leat::comm::tests

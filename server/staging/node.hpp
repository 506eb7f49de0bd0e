// SPDX-License-Identifier: Apache-2.0
// A staging node: servers of the simulation find it by its card, and send it what its stores and scripts want.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "lib/comm/listening.hpp"
#include "lib/comm/meeting.hpp"
#include "lib/model/model.hpp"
#include "lib/staging/cards.hpp"
#include "lib/staging/frames.hpp"
#include "lib/staging/shares.hpp"

namespace leat::staging {

class Source;

struct NodeOptions {
  std::string config;        ///< path of the XML
  std::int64_t number = -1;  ///< among the staging nodes; -1: the lowest that is free
  bool local =
      false;  ///< on a node of the simulation, for that alone: its card goes to os::kReportFd
};

// Which staging node a server of the simulation is to send to: asked of node 0, which knows when all servers of a run have asked.
class Registry {
 public:
  /// Waits until all ranks of the run are known, or `limit_ns` has passed: then the plan is for those that are. The node of the
  /// one that asks, and all ranks of that node's share.
  struct Answer {
    std::int64_t node = 0;
    RankList ranks;
  };
  Answer ask(const std::string& run, std::int32_t all, const RankList& own, std::int64_t nodes,
             std::int64_t limit_ns);

 private:
  struct Run {
    std::vector<RankList> servers;
    std::size_t ranks = 0;
    bool is_planned = false;
    std::vector<std::int64_t> plan{};
  };

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Run> runs_;
};

/// From here on SIGTERM and SIGINT end a staging node that serves nobody; one that serves goes on until its run has ended, as that
/// does by the same signals, or until the second one.
void end_by_signals();

class Node {
 public:
  Node(model::Model model, NodeOptions options);
  ~Node();

  /// Until all that have come are served, and have gone. The exit status of `leat staging`: 0 all stored, 1 not all, 2 it
  /// could not begin.
  int run();

 private:
  struct Served {  // a connection
    std::jthread thread;
    std::atomic<bool> is_over{false};
  };

  Result<void> begin();
  void accept_some();
  void serve(os::UniqueFd socket);
  void serve(Conversation& conversation, const Frame& hello);
  void serve(Conversation& conversation, const std::shared_ptr<Source>& source,
             const std::string& from);
  std::shared_ptr<Source> source_of(const Share& share, const RankList& own);
  void forget(const std::shared_ptr<Source>& source);
  void lose(const std::shared_ptr<Source>& source, const std::string& why);
  void answer_plan(Conversation& conversation, const Frame& hello);
  void take_away_ended();
  bool is_over();
  bool first_is_gone();
  std::int64_t timeout_ns() const;
  /// For what servers do within the timeout, and what they take to find out that it is over.
  std::int64_t patience_ns() const { return timeout_ns() + 10'000'000'000; }
  void say(const std::string& text);

  model::Model model_;
  NodeOptions options_;
  std::string folder_;
  std::optional<OwnCard> card_;
  std::optional<comm::Credential> credential_;
  comm::Listening listening_;
  Registry registry_;
  std::list<Served> served_;
  std::mutex mutex_;                         // of what follows
  std::map<std::string, RankList> waiting_;  // ranks of shares that have yet to come, by session
  std::map<std::string, std::shared_ptr<Source>> sources_;
  bool has_served_ = false, has_lost_ = false;
  std::atomic<bool> has_planned_ = false;
  bool has_seen_first_ = false;  // the card of the first staging node
  std::int64_t idle_since_ns_ = 0;
};

}  // namespace leat::staging

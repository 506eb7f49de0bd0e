// SPDX-License-Identifier: Apache-2.0
// What a staging node does for one server of the simulation: it stands for the ranks of that, at a server of its own node.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "client-api/session/session.hpp"
#include "lib/base/scalar.hpp"
#include "lib/model/model.hpp"
#include "lib/staging/frames.hpp"
#include "lib/staging/shares.hpp"
#include "server/staging/products.hpp"

namespace leat::staging {

// To the server of the staging node these are ranks like any others: each has its session, writes its blocks into the segment,
// straight from the connection, and ends its iterations. So stores, scripts, overflow, failover and the ledger are those of any
// server. A connection that ends without a word is ranks that have died.
//
// Blocks are handed over when the iteration has come as a whole: of one that was cut off there is nothing. A source whose connection
// has broken may come again by another one, as it does when its own server has died and another one took over; when it does not, its
// ranks have died.
//
// One thread serves a connection: it waits for that, and for memory; another one says meanwhile that it lives.
class Source {
 public:
  enum class End {
    good,    ///< it has said bye, and all that it sent is stored
    bad,     ///< it has said bye, and not all is stored, or it said what makes no sense
    cut_off  ///< the connection has broken
  };

  /// `share`: of the staging node; `own`: those of its ranks that the source has.
  Source(Share share, RankList own, std::string config, std::int64_t timeout_ns,
         model::KeepUntil keep_until);
  ~Source();

  /// Attaches the ranks, once. The server of the staging node is started by the first of all.
  Result<void> open();
  /// The last iteration that has come as a whole; -1: none.
  std::int64_t ended();
  /// The same of products, as SourceProducts::numbers().
  nlohmann::json products() { return products_.numbers(any_session()); }
  /// Breaks the connection that is served now, and waits until that has ended; from here on this thread's is served.
  void take_over(Conversation& conversation);
  /// The connection that has taken over, until it ends.
  End serve();
  /// Instead of serve(): nobody is served.
  void let_go();
  /// After End::cut_off: false, another connection has taken over; true, none has for so long.
  bool is_left_for(std::int64_t ns);
  const std::string& why() const noexcept { return why_; }

 private:
  struct Pending {  // a block that has come
    client::Session* session;
    void* data;
    std::optional<std::uint32_t> checksum;
  };
  struct Rank {
    std::int32_t number = 0;
    std::unique_ptr<client::Session> session;
  };

  Rank* rank_of(std::int32_t number);
  client::Session* any_session();
  void take_parameters(const std::string& text);
  void take_signal(const std::string& text);
  End serve_until_the_end();
  bool take_block(const BlockHead& head);
  bool take_products(const std::string& text);
  Status await_memory(Rank& rank, const BlockHead& head, void** data);
  void hand_over();
  void forget_pending();
  void end_iteration(const std::string& text);
  void end_iteration(std::int64_t iteration);
  std::int64_t await_stored();
  void pass_on_steering(const client::Call& call);
  Status await_drained();
  End take_bye(const std::string& text);
  void let_die(std::int32_t rank);
  void be_idle();
  void say_that_it_lives();
  std::uint64_t progress();

  Share share_;
  RankList own_;
  std::string config_;
  std::int64_t timeout_ns_;
  model::KeepUntil keep_until_;
  std::vector<Rank> ranks_;
  std::mutex mutex_;  // of all sessions, which the one thread that serves has alone
  SourceProducts products_{mutex_, timeout_ns_};
  std::vector<Pending> pending_;
  std::map<std::string, std::string> parameters_;  // of all ranks, as they were set last
  std::map<std::string, ParameterValue> steered_;  // by scripts here
  std::map<std::string, nlohmann::json> to_tell_;  // of that, what the simulation has yet to know
  std::int64_t stored_by_ = -1;                    // the last iteration of which there are blocks
  std::int64_t ended_ = -1;
  std::uint64_t refused_ = 0;
  std::uint64_t signals_seen_ = 0, signals_done_ = 0;  // of the iteration in progress
  std::string why_;
  std::mutex serving_;  // of what follows
  std::condition_variable changed_;
  Conversation* conversation_ = nullptr;
  bool is_at_work_ = false, is_over_ = false, is_served_ = false;
  std::uint64_t taken_over_ = 0;  // how often
  std::jthread pulse_;
};

}  // namespace leat::staging

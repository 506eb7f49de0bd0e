// SPDX-License-Identifier: Apache-2.0
// A connection of a server of the simulation to a staging node.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "lib/base/status.hpp"
#include "lib/comm/meeting.hpp"
#include "lib/staging/frames.hpp"
#include "lib/staging/shares.hpp"

namespace leat::staging {

inline constexpr std::int64_t kSecond = 1'000'000'000;  // in ns

/// Who connects, and how long it waits.
struct Caller {
  Share share;
  RankList own;
  std::string node;                  ///< for people
  std::string xml;                   ///< that both ends have read
  std::int64_t silence_ns = 0;       ///< in which a staging node that is at work says nothing
  std::function<void()> progress{};  ///< it says that it gets something done
};

// One thread sends; another one reads what comes, and gives the connection up when the staging node is silent.
class Link {
 public:
  /// Which staging node, by asking the first of all of them; `share` gets its ranks.
  static Result<std::int64_t> ask_plan(const comm::Offer& first, Share* share, const RankList& own);
  /// `limit_ns`: of a place that has known the caller before; 0: a server may have to be started there.
  static Result<std::unique_ptr<Link>> open(const comm::Offer& card, const Caller& caller,
                                            std::int64_t limit_ns = 0);
  ~Link();
  Link(const Link&) = delete;

  // False: the connection has broken; see why().
  bool send(FrameKind kind, const std::string& text);
  bool send_block(const BlockHead& head, const void* data);
  /// The staging node has all of the iteration.
  bool await_taken(std::int64_t iteration);
  /// The staging node has these products, or `*why` says why not.
  bool await_products(std::uint64_t number, std::string* why);
  /// But so many blocks of the last one.
  std::uint64_t refused() const;
  /// What scripts there have set since this was called last: parameters by name, as frames have them.
  nlohmann::json take_steered();
  /// It is told that no more comes, and has stored all. `*status`: a Status.
  bool await_stored(int* status);

  /// The staging node had taken all up to this one when the connection was made.
  std::int64_t ended() const noexcept { return ended_; }
  /// Is known to be through all of its stores.
  std::int64_t stored() const noexcept { return stored_; }
  /// Number of the last products that it has taken, and up to which all subscribers there are known to have them.
  std::uint64_t products() const;
  std::uint64_t products_through() const;
  std::string why() const;

 private:
  Link(std::unique_ptr<Conversation> conversation, const Caller& caller);
  void read();
  void take(const Frame& frame);
  void take_numbers(const nlohmann::json& said);
  bool await(const std::function<bool()>& has_come);
  void be_at_work(bool at_work);

  std::unique_ptr<Conversation> conversation_;
  std::int64_t silence_ns_;
  std::function<void()> progress_;
  std::int64_t ended_ = -1;
  std::atomic<std::int64_t> stored_{-1};
  mutable std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::int64_t taken_ = -1, heard_ns_ = 0;
  std::uint64_t refused_ = 0, products_ = 0, products_through_ = 0;
  std::string why_no_products_;
  nlohmann::json steered_;
  int status_ = 1;  // 1: not known yet
  bool is_at_work_ = false, is_over_ = false;
  std::string why_, last_progress_;
  std::jthread reader_;
};

}  // namespace leat::staging

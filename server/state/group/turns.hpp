// SPDX-License-Identifier: Apache-2.0
// Stores of the servers of a run that write in turn.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/state/group/run_rounds.hpp"
#include "server/state/group/turn_queue.hpp"

namespace leat::server {

// Stores are on threads of their own, where they may wait; rounds are the engine's. Each server has a channel of its own,
// channel::turns and its rank, in which all others have ended their part: so what it says is an outcome as soon as it
// has come to the root and back, and all servers get what all say in the same order (TurnQueue). Nothing of it is kept for a
// server that takes over: it says anew what it wants, and knows of the others what they say from then on.
//
// No wait is without an end. Who does not get its turn is told why, and does without: a server that is alone, or dead for the
// others, and one that has waited for half of the timeout while nobody began or ended a turn.
class Turns {
 public:
  /// A turn, or none, until it goes out of scope.
  class Turn {
   public:
    Turn() = default;
    Turn(Turn&& other) noexcept { *this = std::move(other); }
    Turn& operator=(Turn&& other) noexcept {
      std::swap(turns_, other.turns_);
      std::swap(wish_, other.wish_);
      return *this;
    }
    ~Turn() {
      if (turns_) turns_->give_back(wish_);
    }
    bool is_there() const noexcept { return turns_ != nullptr; }
    /// Of those that several servers write into in turn; -1: one of its own.
    std::int32_t file() const noexcept { return turns_ ? wish_.file : -1; }

   private:
    friend class Turns;
    Turn(Turns* turns, const TurnWish& wish) : turns_(turns), wish_(wish) {}
    Turns* turns_ = nullptr;
    TurnWish wish_{};
  };

  /// `wake`: the engine has something to do.
  Turns(const Run& run, RunRounds& rounds, std::function<void()> wake);
  Turns(const Turns&) = delete;

  /// From a store's thread: waits for its turn. `files`: so many are shared by all servers, 0 for none, and the turn is one
  /// in the file that is this server's, or in another one that is idle while that one's writer is slow.
  Turn take(std::uint32_t store, std::int32_t files);
  /// From any thread: nobody waits any more.
  void stop();
  bool has_news() const noexcept { return has_news_.load(std::memory_order_relaxed); }

  // From the engine's thread

  /// Before RunRounds::advance(): who is there is known, or not yet.
  void look_who_is_there();
  /// What stores want is said to the others.
  void advance();

 private:
  void join();
  void hear(comm::Rank server, const comm::Outcome& outcome);
  void give_back(const TurnWish& wish);
  void want(const TurnWish& wish);
  void drop(const TurnWish& wish);
  TurnWish new_wish(std::uint32_t store, std::int32_t file);
  std::int32_t own_file(std::int32_t files) const;
  /// Why this server waits for nobody; "": it may.
  std::string why_none() const;
  std::string whom_it_waits_for(const TurnWish& wish) const;
  bool gives_way(TurnWish* wish, std::int32_t files, std::int64_t now_ns);
  Turn without(const TurnWish& wish, const std::string& why);

  const Run& run_;
  RunRounds& rounds_;
  std::function<void()> wake_;
  bool is_used_ = false;     // by a store of this run
  bool has_joined_ = false;  // of the engine's thread
  std::int64_t said_ = 0;    // number of the last round

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  TurnQueue queue_;
  comm::RankSet gone_;
  comm::Rank self_ = 0, size_ = 0;  // 0: the others are not known
  std::string why_alone_;
  std::vector<std::string> names_;
  std::vector<TurnWish> wishes_;  // of this server
  std::int64_t last_wish_ = 0, changed_ns_ = 0;
  std::set<std::string> told_;  // stores that have been told that they do without
  bool is_stopped_ = false;
  std::atomic<bool> has_news_{false};  // only asked in loops: the mutex orders the rest
};

/// Of `<store>`: it asks the server for its turn itself, as its files are shared.
bool asks_for_turns(const model::Store& store);
/// Its server sees to it that it is called in its turn alone.
inline bool is_called_in_turn(const model::Store& store) {
  return store.max_writers > 0 && !asks_for_turns(store);
}

}  // namespace leat::server

// SPDX-License-Identifier: Apache-2.0
// How a server gets to know the other servers of its run. Private to the engine's thread, but for what is said of others.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "lib/comm/folder_meeting.hpp"
#include "lib/comm/listening.hpp"
#include "lib/comm/meeting.hpp"
#include "lib/shm/handshake.hpp"
#include "server/state/journal/session_journal.hpp"
#include "server/state/run.hpp"

namespace leat::server {

/// What a server brings along.
struct JoiningParts {
  comm::Offer own{};            ///< number 0: it meets nobody
  comm::Listening listening{};  ///< where its card says
  std::string folder{};         ///< where servers meet that nothing else brings together
  std::string why_alone{};      ///< the run has other servers, and it meets none of them; or ""
};

/// By what servers that have met reach each other, when the XML says `wanted`: tcp, folder or none.
model::Carrier carrier_of(model::Carrier wanted, const comm::Meeting& meeting);

// Servers meet by what brings their ranks together, or else in a folder:
//
//   ranks   leat_init_mpi: each rank gets its server's offer with the welcome, the ranks gather those of all servers by the communicator
//           that named the session, and the lowest rank of each server gives them to it, and to each that takes over
//   folder  any other start: once all ranks of this server have come, a thread looks into the folder; see comm::FolderMeeting
//
// The offer is in the journal before anybody has it, and those of all before anything follows from them: a server that takes
// over has the same number, and goes on where the one before it was. What does not come within its time is not waited for.
class Joining {
 public:
  struct Met {
    comm::Meeting meeting{};  ///< without cards: this server goes on without others
    std::string why{};  ///< by what they have met, or why there are none; "" when it has all ranks
  };

  Joining(const Run& run, SessionJournal& journal, std::function<void()> wake)
      : run_(run), journal_(journal), wake_(std::move(wake)) {}
  ~Joining() { stop(); }
  Joining(const Joining&) = delete;

  /// Once, before anybody comes and before what is in a journal is applied.
  void begin(JoiningParts parts);

  /// A rank of this server has come: it is told what this server says of itself.
  void greet(const shm::Hello& hello, shm::Welcome* welcome);
  /// It brings what all servers say.
  void take_offers(const std::string& offers);
  /// All ranks of this server have come, or are not waited for any more.
  void ranks_are_here(std::int32_t lowest);
  /// None has, and none is waited for.
  void no_rank_comes();

  bool has_news() const noexcept { return has_news_.load(std::memory_order_relaxed); }
  /// Once, when it is known.
  std::optional<Met> take_met();
  /// Others are not known yet: take_met() wants to be called now and then.
  bool is_waiting() const noexcept { return !is_over_; }
  /// For people.
  std::string why_waiting() const;

  const std::string& folder() const noexcept { return parts_.folder; }
  /// Once.
  comm::Listening take_listening() noexcept { return std::move(parts_.listening); }
  /// Takes away what was written into the folder: the run is over.
  void stop();

  // Recovery where a server has died
  void apply(const ServersMet& record) { record_ = record; }
  ServersMet snapshot() const { return record_; }

 private:
  void clear_away();
  void note(std::string offers, std::string why);
  void begin_in_folder(std::int32_t lowest);
  void work(comm::FolderMeeting meeting);
  std::int64_t limit_ns() const;
  Met over(Met met);

  const Run& run_;
  SessionJournal& journal_;
  std::function<void()> wake_;
  JoiningParts parts_;
  ServersMet record_;
  std::optional<bool> by_ranks_;  // once a rank has come
  std::int64_t since_ns_ = 0;     // others are waited for; 0: not yet
  bool is_over_ = false, has_refused_ = false;

  std::atomic<bool> has_news_{false};  // a hint: the mutex orders the rest
  mutable std::mutex mutex_;           // of what follows
  std::condition_variable changed_;
  std::string offers_, why_waiting_;
  bool stopping_ = false;
  std::jthread thread_;
};

}  // namespace leat::server

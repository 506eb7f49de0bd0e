// SPDX-License-Identifier: Apache-2.0
// Who of the servers of a run writes now, and who waits: one queue, the same on all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/comm/rank_set.hpp"

namespace leat::server {

/// A store of a server wants to write, or writes.
struct TurnWish {
  std::uint32_t store = 0;  ///< by its place in the model
  std::int64_t number = 0;  ///< another one for each wish of a server
  std::int32_t file = -1;   ///< into which no two write at one time; -1: into its own
  bool operator==(const TurnWish&) const = default;
};

/// What a server says to the others: all of its wishes.
std::string text_of(const std::vector<TurnWish>& wishes);
/// Nothing where it cannot be read.
std::optional<std::vector<TurnWish>> wishes_in(const std::string& text);

// Servers say what they want in one order, which is that of all (RunRounds). So all have the same queue, and
// each sees by itself when it is its turn: of a store the first `most` write, as far as their files are free. Who is gone
// counts for nothing: a server that has left, or that is silent for too long.
class TurnQueue {
 public:
  /// `most`: writers at one time, by store; 0: any number.
  explicit TurnQueue(std::vector<std::int64_t> most) : most_(std::move(most)) {}

  /// What it does not name any more is over; what is new comes last.
  void says(comm::Rank server, const std::vector<TurnWish>& wishes);
  /// Turns begin here, and are measured: to be called after each change.
  void look(const comm::RankSet& gone, std::int64_t now_ns);

  bool has(comm::Rank server, const TurnWish& wish) const { return find(server, wish) != nullptr; }
  /// It is the turn of this server's wish, as of the last look().
  bool is_at_turn(comm::Rank server, const TurnWish& wish) const;
  /// Who writes into the file, and since when.
  struct Writer {
    comm::Rank server = 0;
    std::int64_t since_ns = 0;
  };
  std::optional<Writer> writer_of(std::uint32_t store, std::int32_t file) const;
  /// This wish is the first of those that wait for its file.
  bool is_next(comm::Rank server, const TurnWish& wish) const;
  /// A file of the `files` of this store that nobody writes or waits for; nothing: there is none.
  std::optional<std::int32_t> idle_file(std::uint32_t store, std::int32_t files) const;
  /// How long a turn of this store lasts, about; 0: not known.
  std::int64_t usual_ns(std::uint32_t store) const;
  /// Who is before it, the first.
  std::optional<comm::Rank> before(comm::Rank server, const TurnWish& wish) const;

 private:
  struct Entry {
    comm::Rank server = 0;
    TurnWish wish{};
    std::int64_t since_ns = 0;  // its turn began then; 0: it waits
    bool is_over = false, is_gone = false;
  };
  const Entry* find(comm::Rank server, const TurnWish& wish) const;
  void note_over(const Entry& entry, std::int64_t now_ns);

  std::vector<std::int64_t> most_, usual_ns_;
  std::vector<Entry> entries_;
};

}  // namespace leat::server

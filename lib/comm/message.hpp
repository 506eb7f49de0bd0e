// SPDX-License-Identifier: Apache-2.0
// What the servers of a run tell each other, and its bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "lib/comm/columns.hpp"

namespace leat::comm {

/// A root took over, and knew the outcomes up to here.
struct Start {
  std::int64_t epoch = 0;
  std::int64_t known = 0;
  bool operator==(const Start&) const = default;
};

/// Who takes part. Only a root that was accepted by most of the others makes a new one.
struct View {
  std::int64_t epoch = 0;  ///< grows with each root, and no two roots ever have the same
  Rank root = 0;
  std::int64_t version = 0;     ///< grows with each change that this root makes
  RankSet dead{};               ///< silent for too long: nobody hears them any more
  RankSet left{};               ///< took their leave
  std::vector<Start> starts{};  ///< of roots after the first one

  RankSet gone() const { return dead + left; }
  bool operator==(const View&) const = default;
  bool is_newer_than(const View& other) const {
    return std::tie(epoch, version) > std::tie(other.epoch, other.version);
  }
  /// Of the root that made the outcome of this sequence.
  std::int64_t epoch_of(std::int64_t sequence) const;
};

/// Which of all collective operations: of an application's choice.
struct Round {
  std::uint64_t channel = 0;
  std::int64_t number = 0;
  auto operator<=>(const Round&) const = default;
};

/// Of some servers, made one.
struct Partial {
  Round round{};
  Rank by = 0;  ///< who has made it one, and its parent alone may do so again; -1: nobody may
  RankSet of{};
  RankSet passed{};  ///< contribute nothing, for they have contributed to a later one
  /// The last round of the channel that is over where this came by: what was contributed to rounds
  /// up to that one may be missing.
  std::int64_t over = INT64_MIN;
  Columns columns{};  ///< empty: those that it is of have nothing to say in this round
};

/// Of all that take part; in one order for all servers.
struct Outcome {
  std::int64_t sequence = 0;  ///< 1, 2, ...
  std::int64_t epoch = 0;     ///< of the root that made it; -1: made by a server that was alone
  Round round{};
  RankSet
      of{};  ///< who took part, be it with nothing; the others died first, or what they sent does not fit
  Columns columns{};
};

/// To the parent: this server, and those below it, are there.
struct Up {
  View view{};
  RankSet attached{};          ///< it, and those that it speaks for
  RankSet leaving{};           ///< of these, that need nothing any more
  std::int64_t known = 0;      ///< the last outcome that one of them has
  std::int64_t confirmed = 0;  ///< all of them have all outcomes up to here for good
};

/// A round that has been open for a while, and some whose contribution is missing.
struct Awaited {
  Round round{};
  RankSet of{};
};

/// To a child.
struct Down {
  View view{};
  std::uint64_t pulse = 0;         ///< of the root, grows as long as it lives
  std::int64_t known = 0;          ///< the last outcome that the sender has
  std::int64_t confirmed = 0;      ///< all servers have all outcomes up to here for good
  std::int64_t kept = 0;           ///< the sender has all outcomes from this one on
  std::vector<Awaited> awaited{};  ///< of those below that child
};

/// All outcomes from this one on are wanted.
struct Want {
  std::int64_t from = 0;
};

/// To any server, of one that finds no root: which one does that server know?
struct Ask {
  View view{};
};

using Message = std::variant<Up, Down, Partial, Outcome, Want, Ask>;

std::string bytes_of(const Message& message);
/// Nothing of what makes no sense, whoever sent it.
std::optional<Message> message_in(std::string_view bytes);

}  // namespace leat::comm

// SPDX-License-Identifier: Apache-2.0
// What carries messages between the servers of a run, whatever it is made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/comm/meeting.hpp"
#include "lib/comm/rank_set.hpp"

namespace leat::comm {

struct LinkEvent {
  enum class Kind { up, down, message };
  Kind kind = Kind::up;
  Rank peer = 0;
  std::string bytes{};  ///< of a message
};
using LinkEvents = std::vector<LinkEvent>;

// A link is between two servers, and one of both has made it. Between an `up` and the next `down` of a peer its messages arrive in
// order, each once and as it was sent; those that were under way when a link went down are lost. A server that was started
// anew, or whose link was made anew, is a new `up`, with or without a `down` before it. Not thread-safe.
class Links {
 public:
  struct Settings {
    Rank self = 0;
    Rank size = 1;
    std::string run{};            ///< the same for all servers of a run, another one for each run
    std::int64_t silence_ns = 0;  ///< a link on which nothing moves for so long is gone
    std::size_t most_unsent = std::size_t{64} << 20;  ///< with more a link is given up
  };

  virtual ~Links() = default;

  /// Where servers can be reached, of all or of those that are known. Links that do not need it ignore it.
  virtual void set_cards(const std::vector<Card>& cards) { (void)cards; }
  /// These servers have left or are dead: what is kept for them can go, at the end.
  virtual void set_gone(const RankSet& gone) { (void)gone; }
  /// The one server that this one makes a link to, again and again; links that others have made stay.
  virtual void want(std::optional<Rank> peer, std::int64_t now_ns) = 0;
  /// What is sent to a server without a link is lost.
  virtual void send(Rank to, std::string_view message) = 0;
  static constexpr std::int64_t kMostSleepNs = 1'000'000'000;
  /// Waits until `until_ns` of now_ns(), and no longer than kMostSleepNs, for whatever happens to links or until `wake` can be read.
  virtual LinkEvents poll(std::int64_t until_ns, int wake) = 0;
  /// A message that is longer ends the link that it is sent over.
  virtual std::size_t most_bytes() const noexcept = 0;

  /// Why the wanted server cannot be reached, with what was tried; "".
  virtual const std::string& why_unreached() const noexcept = 0;
  /// How often somebody who is no server of this run was turned away, and why the last one was.
  virtual std::uint64_t refused() const noexcept = 0;
  virtual const std::string& why_refused() const noexcept = 0;
};

}  // namespace leat::comm

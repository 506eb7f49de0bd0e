// SPDX-License-Identifier: Apache-2.0
// Ranks that have yet to attach. They may be slow, be killed or be stopped on their way, and nobody
// can tell. The others' iterations stay open for them, as long as that costs nobody anything; once
// it does, they are waited for a while, once in the run, and then given up for good: the ledger
// says so, and so does leat_init to who comes later. Private to the engine's thread.
#pragma once

#include <cstdint>

#include "server/engine/attachment.hpp"
#include "server/engine/overflow.hpp"

namespace leat::server {

class Absence {
 public:
  Absence(SessionState& session, Dispatcher& dispatcher, Overflow& overflow, Attachment& attachment,
          Placing& placing);

  /// To be called often as long as ranks are expected.
  void look();

 private:
  bool any_expected() const noexcept;
  bool hurts() const;
  bool ends_are_waited_for() const noexcept;
  std::int64_t limit_ns() const noexcept;

  const Run& run_;
  Clients& clients_;
  const IterationTracker& iterations_;
  Memory& memory_;
  Dispatcher& dispatcher_;
  Overflow& overflow_;
  Attachment& attachment_;
  Placing& placing_;
  // How long others have waited for what ranks that have yet to attach keep from them.
  std::int64_t hurt_ns_ = 0, seen_ns_ = 0;
};

}  // namespace leat::server

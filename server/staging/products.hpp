// SPDX-License-Identifier: Apache-2.0
// What a source sends of products, on its way into the segment of the staging node.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "client-api/session/session.hpp"
#include "lib/staging/frames.hpp"

namespace leat::staging {

// Each has a number, one more than the one before it: what was taken is known by that where a connection breaks before the answer
// has come. Of those that not all subscribers here have it is known where they lie.
class SourceProducts {
 public:
  /// `mutex`: of the sessions. `timeout_ns`: in which something of the data comes.
  SourceProducts(std::mutex& mutex, std::int64_t timeout_ns)
      : mutex_(mutex), timeout_ns_(timeout_ns) {}

  /// Takes what `text` announces and the next frame has, into the memory of `session`; null: all ranks of the source have died. The
  /// answer, without numbers(): why they are not taken; nothing: the conversation is over.
  std::optional<nlohmann::json> take(Conversation& conversation, const std::string& text,
                                     client::Session* session);
  /// Waits until all subscribers have all of it, as long as the conversation is not given up.
  void await_through(Conversation& conversation, client::Session* session);
  /// Number of the last that was taken, and of the last up to which all subscribers have them. With the sessions' mutex not held.
  nlohmann::json numbers(client::Session* session);

 private:
  using Place = client::ProductWriter::Place;

  Status await_memory(Conversation& conversation, client::Session& session, const std::string& head,
                      std::uint64_t bytes, void** data);
  std::uint64_t through(client::Session* session);

  std::mutex& mutex_;
  const std::int64_t timeout_ns_;
  std::uint64_t taken_ = 0;
  std::deque<std::pair<std::uint64_t, Place>> under_way_;
};

}  // namespace leat::staging
